"""git as a child process: never a prompt, never an option out of an address, always a limit."""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from rookery.http_client import is_public
from rookery.sources.commits import CannotAsk, UnknownRevision

# Which addresses may be asked: by scheme, and never by accident inside this network.
#
# A submitter chooses the address. Without a look at it, anybody with an account could make the
# server talk to what only the server can reach. A name is looked up once: what was found is looked
# at and is then what git connects to, so that a name which leads elsewhere a moment later leads
# nowhere.

Resolve = Callable[[str], tuple[str, ...]]
PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}
# Nothing that two readers of addresses might take for two different hosts.
_HOST = re.compile(
    r"(?:[^@/\\\s]*@)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?",
    re.ASCII,
)


def resolved(host: str) -> tuple[str, ...]:
    """All addresses of a host. Asks the name service, and so blocks; raises OSError."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class RepositoryHost:
    """Where a repository lies; without addresses whoever connects looks them up."""

    scheme: str
    host: str = ""
    port: int = 0
    addresses: tuple[str, ...] = ()


NOWHERE = RepositoryHost("none")


@dataclass(frozen=True, slots=True)
class Reach:
    """What the operator allows; `inside` are hosts of the own network that may be asked."""

    schemes: frozenset[str] = frozenset({"https"})
    inside: frozenset[str] = frozenset()
    resolve: Resolve = resolved

    def check(self, repository: str) -> RepositoryHost:
        """Where to connect to; raises CannotAsk. Asks the name service, and so blocks."""
        parts = urlsplit(repository)
        if parts.scheme not in self.schemes:
            allowed = ", ".join(sorted(self.schemes)) or "none"
            raise CannotAsk(f"this server fetches by {allowed}, not by {parts.scheme}")
        if parts.scheme == "file":
            return RepositoryHost(parts.scheme)
        if _HOST.fullmatch(parts.netloc) is None:
            raise CannotAsk(f"{parts.netloc[:100]!r} can't be the name of a host")
        return self._place(parts)

    def _place(self, parts: SplitResult) -> RepositoryHost:
        host, trusted = parts.hostname or "", parts.hostname in self.inside
        try:
            port = parts.port or PORTS[parts.scheme]
            addresses = self.resolve(host)
        except (OSError, ValueError):
            # An operator's own ssh settings may know hosts that no name service does.
            if trusted:
                return RepositoryHost(parts.scheme)
            raise CannotAsk(f"there is no host {host}") from None
        if not trusted and not all(map(is_public, addresses)):
            raise CannotAsk(f"{host} lies inside this server's network; its operator can allow it")
        if trusted and parts.scheme == "ssh":
            return RepositoryHost(parts.scheme)
        return RepositoryHost(parts.scheme, host, port, tuple(_plain(each) for each in addresses))


def _plain(address: str) -> str:
    """Without the interface that IPv6 may name."""
    return address.partition("%")[0]


# How git is held to the addresses that were looked at: by words, and by its environment.
#
# https and http take the addresses for a host's name, with the certificate and the header of the
# name; ssh takes the first of them under the name's key; git's own protocol is sent to the first.

SSH = "ssh -oBatchMode=yes -oStrictHostKeyChecking=accept-new -oConnectTimeout=10"


def words_for(place: RepositoryHost) -> tuple[str, ...]:
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


def variables_for(place: RepositoryHost) -> Mapping[str, str]:
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


def _named(place: RepositoryHost) -> tuple[str, ...]:
    """How an address may begin."""
    host = f"git://{_bracketed(place.host)}"
    return (f"{host}:{place.port}/", *((f"{host}/",) if place.port == PORTS["git"] else ()))


def _instead(there: str, name: str) -> str:
    return f"url.{there}.insteadOf={name}"


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


SAFE = (
    # A redirect could lead to where the address itself may not.
    *("-c", "http.followRedirects=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.version=2"),
    *("-c", "credential.helper="),
    *("-c", "gc.auto=0"),
)
LIMITED = ("/bin/sh", "-c", 'ulimit -f "$0" && exec git "$@"')
"""No file that git writes grows beyond so many blocks."""
LATEST = "HEAD"
"""What a repository shows when it is asked for nothing in particular."""
BLOCK = 512
LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True)
class Git:
    """How git is called here."""

    reach: Reach = field(default_factory=Reach)
    credentials: Path | None = None
    """A file of git's `store` helper: what the server shows for repositories that are known."""
    known: bool = True
    """Whether the server shows who it is, by these credentials or its ssh key."""
    seconds: float = 20.0
    largest_bytes: int = 2 * 10**9
    place: RepositoryHost = NOWHERE
    """Where it was found that git may connect to."""

    def asking(self, repository: str) -> "Git":
        """Held to where this repository lies now; raises CannotAsk where that may not be asked."""
        return replace(self, place=self.reach.check(repository))

    def anonymous(self) -> "Git":
        return replace(self, known=False)

    def find(self, repository: str, revision: str) -> str:
        """The commit of a branch or a tag; raises UnknownRevision or CannotAsk."""
        asked = self.asking(repository)
        names = [f"refs/heads/{revision}", f"refs/tags/{revision}", f"refs/tags/{revision}^{{}}"]
        names += [revision] if revision == LATEST else []
        said = asked.run("ls-remote", "--quiet", "--", repository, *names)
        found = dict(line.split("\t", 1)[::-1] for line in said.splitlines() if "\t" in line)
        # Of a tag that is an object of its own, the commit it stands for.
        for name in (names[0], names[2], names[1], *names[3:]):
            if name in found:
                return found[name]
        raise UnknownRevision(revision, repository)

    def run(self, *words: str, folder: Path | None = None) -> str:
        """What git said; raises CannotAsk with its last words."""
        blocks = str(self.largest_bytes // BLOCK)
        process = subprocess.Popen(
            [*LIMITED, blocks, *SAFE, *words_for(self.place), *self._shown(), *words],
            cwd=folder or "/",
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            said, complaints = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise CannotAsk(f"git took longer than {self.seconds:.0f} s") from None
        finally:
            _end(process)
        if process.returncode:
            raise CannotAsk(_last_words(complaints))
        return said.decode("utf-8", "replace")

    def _shown(self) -> tuple[str, ...]:
        if self.credentials is None or not self.known:
            return ()
        return ("-c", f"credential.helper=store --file='{self.credentials}'")

    def _environment(self) -> dict[str, str]:
        """Nothing of ours but where programs are: no settings, no secrets, no agent."""
        return {
            "PATH": os.defpath + ":/usr/local/bin",
            "HOME": _home(),
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ALLOW_PROTOCOL": ":".join(sorted(self.reach.schemes)) or "none",
            **variables_for(self.place),
            **({} if self.known else {"GIT_SSH_COMMAND": "false"}),
        }


def _home() -> str:
    """Where the ssh key lies; an account may have none."""
    try:
        return str(Path.home())
    except RuntimeError:
        return "/"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _last_words(complaints: bytes) -> str:
    lines = [line for line in complaints.decode("utf-8", "replace").splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "ERROR:", "remote:"))] or lines
    return (told[-1] if told else "git failed").removeprefix("fatal: ")[:LONGEST_WORDS]
