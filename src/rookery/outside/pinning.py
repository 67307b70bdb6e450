"""How git is held to the addresses that were looked at: by words, and by its environment.

https and http take the addresses for a host's name, with the certificate and the header of the
name; ssh takes the first of them under the name's key; git's own protocol is sent to the first.
"""

from collections.abc import Mapping

from rookery.outside.addresses import PORTS, Place

SSH = "ssh -oBatchMode=yes -oStrictHostKeyChecking=accept-new -oConnectTimeout=10"


def words_for(place: Place) -> tuple[str, ...]:
    """Settings for git's command line."""
    if not place.addresses:
        return ()
    if place.scheme in ("http", "https"):
        addresses = ",".join(map(_bracketed, place.addresses))
        entry = f"{_bracketed(place.host)}:{place.port}:{addresses}"
        return ("-c", f"http.curloptResolve={entry}")
    if place.scheme == "git":
        there = f"git://{_bracketed(place.addresses[0])}:{place.port}/"
        return tuple(word for name in _named(place) for word in ("-c", _instead(there, name)))
    return ()


def variables_for(place: Place) -> Mapping[str, str]:
    """Settings for git's environment."""
    ssh = {"GIT_SSH_COMMAND": SSH}
    if not place.addresses:
        return ssh
    if place.scheme == "ssh":
        own = place.port == PORTS["ssh"]
        alias = place.host if own else f"[{place.host}]:{place.port}"
        pinned = f"-oHostName={place.addresses[0]} -oHostKeyAlias={alias} -oCheckHostIP=no"
        return {"GIT_SSH_COMMAND": f"{SSH} {pinned}"}
    if place.scheme == "git":
        return {**ssh, "GIT_OVERRIDE_VIRTUAL_HOST": f"{_bracketed(place.host)}:{place.port}"}
    return ssh


def _named(place: Place) -> tuple[str, ...]:
    """How an address may begin."""
    host = f"git://{_bracketed(place.host)}"
    return (f"{host}:{place.port}/", *((f"{host}/",) if place.port == PORTS["git"] else ()))


def _instead(there: str, name: str) -> str:
    return f"url.{there}.insteadOf={name}"


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
