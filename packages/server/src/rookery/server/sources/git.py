"""Runs git as a child process on addresses that users choose: without prompts, with limits, and
only on hosts that the operator allows.
"""

import os
import re
import selectors
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from urllib.parse import SplitResult, urlsplit

from rookery.core.http_places import is_public
from rookery.server.sources.commits import HostNotFound, SourceError, unknown_revision

# Which addresses git may connect to.
#
# A submitter chooses the address. Without a check, anybody with an account could make the server
# connect to hosts of its internal network. A name is resolved once, the addresses are checked, and
# git is pinned to them: a name that resolves to another address a moment later has no effect.

Resolve = Callable[[str], tuple[str, ...]]
PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}
# Strict, so that we and git can't find different hosts in the same address.
_HOST = re.compile(
    r"(?:[^@/\\\s]*@)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?",
    re.ASCII,
)


def resolve_host(host: str) -> tuple[str, ...]:
    """All IP addresses of a host. Blocks; raises OSError."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class RepositoryHost:
    """The host of a repository; if it has no addresses, git resolves the name itself."""

    scheme: str
    host: str = ""
    port: int = 0
    addresses: tuple[str, ...] = ()


NOWHERE = RepositoryHost("none")


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """The operator's rules for where git may connect; `inside` are allowed hosts of the internal
    network."""

    schemes: frozenset[str] = frozenset({"https"})
    inside: frozenset[str] = frozenset()
    resolve: Resolve = resolve_host

    def check(self, repository: str) -> RepositoryHost:
        """Check a repository and return the host to connect to; raise HostNotFound, or another
        SourceError if it is not allowed. Blocks."""
        parts = urlsplit(repository)
        if parts.scheme not in self.schemes:
            allowed = ", ".join(sorted(self.schemes)) or "none"
            raise SourceError(f"this server fetches by {allowed}, not by {parts.scheme}")
        if parts.scheme == "file":
            return RepositoryHost(parts.scheme)
        if _HOST.fullmatch(parts.netloc) is None:
            raise SourceError(f"{parts.netloc[:100]!r} can't be the name of a host")
        return self._find_host(parts)

    def _find_host(self, parts: SplitResult) -> RepositoryHost:
        host, trusted = parts.hostname or "", parts.hostname in self.inside
        try:
            port = parts.port or PORTS[parts.scheme]
            addresses = self.resolve(host)
        except (OSError, ValueError) as error:
            # An operator's own ssh settings may know hosts that no name service does.
            if trusted:
                return RepositoryHost(parts.scheme)
            if isinstance(error, OSError):
                raise HostNotFound(host) from None
            raise SourceError(f"there is no host {host}") from None
        if not trusted and not all(map(is_public, addresses)):
            raise SourceError(
                f"{host} lies inside this server's network; its operator can allow it"
            )
        if trusted and parts.scheme == "ssh":
            return RepositoryHost(parts.scheme)
        return RepositoryHost(
            parts.scheme, host, port, tuple(_strip_interface(each) for each in addresses)
        )


def _strip_interface(address: str) -> str:
    """Return the address without an IPv6 zone such as `%eth0`."""
    return address.partition("%")[0]


# How git is pinned to the addresses that were checked: by options and by its environment.
#
# https and http connect to the addresses, with the certificate and the Host header of the name; ssh
# connects to the first under the name's host key; git's own protocol connects to the first.

SSH = "ssh -oBatchMode=yes -oStrictHostKeyChecking=accept-new -oConnectTimeout=10"


def git_options(place: RepositoryHost) -> tuple[str, ...]:
    """Options for git's command line that pin it to a host."""
    if not place.addresses:
        return ()
    if place.scheme in ("http", "https"):
        addresses = ",".join(map(_bracket, place.addresses))
        entry = f"{_bracket(place.host)}:{place.port}:{addresses}"
        return ("-c", f"http.curloptResolve={entry}")
    if place.scheme == "git":
        there = f"git://{_bracket(place.addresses[0])}:{place.port}/"
        return tuple(
            word
            for name in _url_prefixes(place)
            for word in ("-c", _instead_of_option(there, name))
        )
    return ()


def git_variables(place: RepositoryHost) -> Mapping[str, str]:
    """Environment variables that pin git to a host."""
    ssh = {"GIT_SSH_COMMAND": SSH}
    if not place.addresses:
        return ssh
    if place.scheme == "ssh":
        own = place.port == PORTS["ssh"]
        alias = place.host if own else f"[{place.host}]:{place.port}"
        pinned = f"-oHostName={place.addresses[0]} -oHostKeyAlias={alias} -oCheckHostIP=no"
        return {"GIT_SSH_COMMAND": f"{SSH} {pinned}"}
    if place.scheme == "git":
        return {**ssh, "GIT_OVERRIDE_VIRTUAL_HOST": f"{_bracket(place.host)}:{place.port}"}
    return ssh


def _url_prefixes(place: RepositoryHost) -> tuple[str, ...]:
    """Return the beginnings of git:// URLs of this host."""
    host = f"git://{_bracket(place.host)}"
    return (f"{host}:{place.port}/", *((f"{host}/",) if place.port == PORTS["git"] else ()))


def _instead_of_option(there: str, name: str) -> str:
    return f"url.{there}.insteadOf={name}"


def _bracket(address: str) -> str:
    return f"[{address}]" if ":" in address else address


SAFE = (
    # A redirect could lead to a host that the address itself may not name.
    *("-c", "http.followRedirects=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.version=2"),
    *("-c", "credential.helper="),
    *("-c", "gc.auto=0"),
    # Larger files are never completely in memory and are not compared line by line: comparing two
    # files of 39 MB took more than 1.5 GB.
    *("-c", "core.bigFileThreshold=1m"),
    # Mapped files count as memory, and so does what each thread reserves.
    *("-c", "core.packedGitWindowSize=64m"),
    *("-c", "core.packedGitLimit=512m"),
    *("-c", "pack.threads=2"),
)
LIMITED = (
    "/bin/sh",
    "-c",
    'ulimit -f "$0" && { ulimit -v "$1" 2>/dev/null || :; } && shift && exec git "$@"',
)
"""Runs git with limits on the size of files, in blocks, and on the memory of each of its processes,
in kB."""
LATEST = "HEAD"
"""The name of a repository's default branch."""
BLOCK = 512
LARGEST_MEMORY = 2_000_000
"""The memory limit in kB. Fetching all of Stockfish's history takes less than 300,000."""
LARGEST_OUTPUT = 64 * 10**6
"""The limit of git's output in bytes. All messages of Stockfish's history take an eighth of it."""
PIECE = 65_536
LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True)
class Git:
    """The settings of a call of git."""

    policy: FetchPolicy = field(default_factory=FetchPolicy)
    credentials: Path | None = None
    """A file for git's `store` helper, used for known repositories."""
    known: bool = True
    """Whether git may use the server's credentials or its ssh key."""
    seconds: float = 20.0
    largest_bytes: int = 2 * 10**9
    place: RepositoryHost = NOWHERE
    """The checked host that git is pinned to."""

    def pin_host(self, repository: str) -> "Git":
        """Return a copy of these settings, pinned to the host of this repository; raise SourceError
        if it is not allowed."""
        return replace(self, place=self.policy.check(repository))

    def without_credentials(self) -> "Git":
        return replace(self, known=False)

    def find(self, repository: str, revision: str) -> str:
        """Return the commit of a branch or a tag; raise SourceError."""
        asked = self.pin_host(repository)
        names = [f"refs/heads/{revision}", f"refs/tags/{revision}", f"refs/tags/{revision}^{{}}"]
        names += [revision] if revision == LATEST else []
        said = asked.run("ls-remote", "--quiet", "--", repository, *names)
        found = dict(line.split("\t", 1)[::-1] for line in said.splitlines() if "\t" in line)
        # For an annotated tag, prefer the commit that it points to.
        for name in (names[0], names[2], names[1], *names[3:]):
            if name in found:
                return found[name]
        raise unknown_revision(revision, repository)

    def run(self, *words: str, folder: Path | None = None) -> str:
        """Return the output of git; raise SourceError with its last message."""
        blocks = str(self.largest_bytes // BLOCK)
        options = (*git_options(self.place), *self._credential_options())
        process = subprocess.Popen(
            [*LIMITED, blocks, str(LARGEST_MEMORY), *SAFE, *options, *words],
            cwd=folder or "/",
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            output, errors = _read_output(process, self.seconds)
        except subprocess.TimeoutExpired:
            raise SourceError(f"git took longer than {self.seconds:.0f} s") from None
        finally:
            _kill(process)
        if process.returncode:
            raise SourceError(_last_message(errors))
        return output.decode("utf-8", "replace")

    def _credential_options(self) -> tuple[str, ...]:
        if self.credentials is None or not self.known:
            return ()
        return ("-c", f"credential.helper=store --file='{self.credentials}'")

    def _environment(self) -> dict[str, str]:
        """Return an environment without settings, secrets or an ssh agent of this process."""
        return {
            "PATH": os.defpath + ":/usr/local/bin",
            "HOME": _home(),
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ALLOW_PROTOCOL": ":".join(sorted(self.policy.schemes)) or "none",
            **git_variables(self.place),
            **({} if self.known else {"GIT_SSH_COMMAND": "false"}),
        }


def _home() -> str:
    """Return the folder with the ssh key; `/` for an account without a home."""
    try:
        return str(Path.home())
    except RuntimeError:
        return "/"


def _read_output(process: "subprocess.Popen[bytes]", seconds: float) -> tuple[bytes, bytes]:
    """Git's output until it ends, and its errors; raises TimeoutExpired, or SourceError if there is
    too much output, because highly compressed data could fill this process's memory."""
    assert process.stdout is not None
    assert process.stderr is not None
    end, output, errors = monotonic() + seconds, bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, errors)
        while selector.get_map():
            for key, _ in selector.select(max(0.0, end - monotonic())):
                if not (piece := os.read(key.fd, PIECE)):
                    selector.unregister(key.fileobj)
                key.data.extend(piece)
                if len(key.data) > LARGEST_OUTPUT:
                    raise SourceError(f"git writes more than {LARGEST_OUTPUT // 10**6} MB")
            if monotonic() > end:
                raise subprocess.TimeoutExpired("git", seconds)
    process.wait(max(0.0, end - monotonic()))
    return bytes(output), bytes(errors)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill git and its child processes."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _last_message(errors: bytes) -> str:
    lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "ERROR:", "remote:"))] or lines
    return (told[-1] if told else "git failed").removeprefix("fatal: ")[:LONGEST_WORDS]
