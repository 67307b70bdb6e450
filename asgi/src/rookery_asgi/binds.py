"""Where to listen, as it is written: `--bind 0.0.0.0:443 --bind unix:/run/app.sock,mode=660`."""

from collections.abc import Mapping
from dataclasses import dataclass

from rookery_asgi.errors import BadOption
from rookery_asgi.options import Options

FIRST_FD = 3
"""Where the descriptors of LISTEN_FDS begin."""
DEFAULT = Options()


@dataclass(frozen=True, slots=True)
class Bind:
    """One address: a host's, a unix socket's, or a descriptor that was inherited."""

    host: str = ""
    port: int = 0
    path: str | None = None
    mode: int = 0o666
    """Of the unix socket. As with other servers the folder's permissions say who may connect."""
    fd: int | None = None
    plain: bool = False
    """Without TLS, although there is a certificate."""


def read_bind(text: str) -> Bind:
    """The address, and behind commas `plain` and `mode=660`."""
    place, *words = text.split(",")
    mode, plain = 0o666, False
    for word in words:
        if word == "plain":
            plain = True
        elif word.startswith("mode=") and place.startswith("unix:"):
            mode = read_number(text, word.removeprefix("mode="), 8, 0o777)
        else:
            raise BadOption(f"--bind {text}", f"{word!r} is not known there")
    if place.startswith("unix:") and place != "unix:":
        return Bind(path=place.removeprefix("unix:"), mode=mode, plain=plain)
    if place.startswith("fd:"):
        return Bind(fd=read_number(text, place.removeprefix("fd:"), 10, 1 << 20), plain=plain)
    return read_tcp(text, place, plain=plain)


def read_tcp(text: str, place: str, *, plain: bool) -> Bind:
    """HOST:PORT, with brackets around an IPv6 address; without a host, all addresses."""
    host, colon, port = place.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not colon or (":" in host and host == bare):
        raise BadOption(f"--bind {text}", "it is none of HOST:PORT, unix:PATH and fd:NUMBER")
    return Bind(host=bare, port=read_number(text, port, 10, 65535), plain=plain)


def read_number(text: str, digits: str, base: int, most: int) -> int:
    """A number within its bounds."""
    allowed = "01234567" if base == 8 else "0123456789"
    if not digits or digits.strip(allowed) or int(digits, base) > most:
        raise BadOption(f"--bind {text}", f"{digits!r} is no number that can stand there")
    return int(digits, base)


def binds_of(options: Options) -> list[Bind]:
    """All addresses that the options name."""
    if not options.binds:
        if options.fd is not None:
            return [Bind(fd=options.fd)]
        if options.uds is not None:
            return [Bind(path=options.uds)]
        return [Bind(host=options.host, port=options.port)]
    return [read_bind(text) for text in options.binds]


def check_binds(options: Options) -> None:
    """Raise BadOption where two options name addresses and one would be forgotten."""
    if options.uds is not None and options.fd is not None:
        raise BadOption("--uds and --fd exclude each other")
    for name in ("host", "port", "uds", "fd"):
        if options.binds and getattr(options, name) != getattr(DEFAULT, name):
            raise BadOption(f"--bind and --{name} exclude each other")
    binds_of(options)


def passed_descriptors(variables: Mapping[str, str], pid: int) -> tuple[str, ...]:
    """What LISTEN_FDS says that a service manager has opened for this process."""
    if variables.get("LISTEN_PID") != str(pid) or not variables.get("LISTEN_FDS", "").isdecimal():
        return ()
    return tuple(f"fd:{FIRST_FD + n}" for n in range(int(variables["LISTEN_FDS"])))
