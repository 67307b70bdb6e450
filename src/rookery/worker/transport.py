"""How a worker's calls travel: a new connection for each, a body in and a body out.

The status of an answer says nothing to a worker, only its body does. Redirected calls are not
followed, because they carry the password; redirected downloads are, without it.
"""

import base64
import contextlib
import http.client
import socket
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from rookery import __version__
from rookery.errors import Complaint
from rookery.over_http import NoRedirects, is_public, is_web_address, reason_of
from rookery.worker.engines.gateway import ALLOWING

# What can go wrong between a worker, its server and a run.

Blame = Literal["run", "machine"]


class Unreachable(Exception):
    """The server gave no answer, or none that can be read: try again later."""


class Refused(Exception):
    """The server answered, and the answer is no."""


class NotTaken(Refused):
    """A file that this worker does not take: too large, or from its own network."""


class CredentialsRefused(Complaint):
    """The server does not know this user or this password."""

    exit_code = 5

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"{server} refused the user name or the password: {why}")


class ForeignServer(Complaint):
    """The server is not a Rookery one, and nobody said that this is meant."""

    exit_code = 5

    def __init__(self, server: str) -> None:
        super().__init__(
            f"{server} is not a Rookery server; --foreign-server plays for it with fastchess."
        )


class TaskFailed(Exception):
    """A task can't be played to its end here."""

    def __init__(self, sentence: str, log: str = "", blame: Blame = "machine") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.log = log
        self.blame = blame


class WrongBench(TaskFailed):
    """An engine is not the one that its author measured."""

    def __init__(self, engine: str, *, expected: int, found: int) -> None:
        super().__init__(
            f"Wrong bench in {engine}, user expected: {expected} but worker got: {found}",
            blame="run",
        )
        self.found = found


SECONDS = 30.0
LARGEST_ANSWER = 16 * 2**20
LARGEST_FILE = 2**30
CHUNK_BYTES = 2**18
NOT_FOUND = 404
AGENT = f"rookery-worker/{__version__}"


class Transport(Protocol):
    """A server as a worker reaches it; a test has its own."""

    server: str

    def post(self, path: str, body: bytes, held: "HeldCall | None" = None) -> bytes:
        """The answer's body; raises Unreachable."""
        ...

    def fetch(
        self,
        address: str,
        into: Path,
        *,
        credentials: tuple[str, str] | None,
        most_bytes: int = LARGEST_FILE,
    ) -> None:
        """A file, from the server or from elsewhere; raises Unreachable, Refused or NotTaken."""
        ...


class HeldCall:
    """A call whose answer takes its time. Another thread may leave it: the connection is closed, by
    which the server knows that nobody waits any more."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.left = False
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None

    def leave(self) -> None:
        with self._lock:
            self.left = True
            taken = self._connection.sock if self._connection else None
        if taken is not None:
            with contextlib.suppress(OSError):
                taken.shutdown(socket.SHUT_RDWR)

    def opener(self) -> urllib.request.OpenerDirector:
        """Makes connections that can be left."""
        return urllib.request.build_opener(NoRedirects, _Plain(self), _Secure(self))

    def watch(self, connection: http.client.HTTPConnection) -> http.client.HTTPConnection:
        with self._lock:
            if self.left:
                raise OSError("nobody waits any more")
            self._connection = connection
        return connection


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, held: HeldCall) -> None:
        super().__init__()
        self._held = held

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._made, req)

    def _made(self, host: str, /, **more: Any) -> http.client.HTTPConnection:
        return self._held.watch(http.client.HTTPConnection(host, **more))


class _Secure(urllib.request.HTTPSHandler):
    def __init__(self, held: HeldCall) -> None:
        super().__init__()
        self._held = held

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._made, req)

    def _made(self, host: str, /, **more: Any) -> http.client.HTTPConnection:
        context = ssl.create_default_context()
        return self._held.watch(http.client.HTTPSConnection(host, context=context, **more))


class HttpTransport:
    """Over HTTP or HTTPS, with certificates verified."""

    def __init__(self, server: str, seconds: float = SECONDS, *, private: bool = False) -> None:
        """`private` lets files come from this machine's own network, not from the server alone."""
        self.server = server.rstrip("/")
        self._seconds = seconds
        self._strict = urllib.request.build_opener(NoRedirects)
        ways = () if private else (_PlainWay(self.server), _SecureWay(self.server))
        self._lenient = urllib.request.build_opener(*ways)

    def post(self, path: str, body: bytes, held: HeldCall | None = None) -> bytes:
        request = _request(self.server + path)
        request.add_header("Content-Type", "application/json")
        request.data = body
        opener = held.opener() if held else self._strict
        seconds = self._seconds + (held.seconds if held else 0.0)
        try:
            with opener.open(request, timeout=seconds) as answer:
                received: bytes = answer.read(LARGEST_ANSWER)
                return received
        except urllib.error.HTTPError as answer:
            return _body(answer)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.server} gives no answer: {reason_of(error)}") from None

    def fetch(
        self,
        address: str,
        into: Path,
        *,
        credentials: tuple[str, str] | None,
        most_bytes: int = LARGEST_FILE,
    ) -> None:
        whole = urllib.parse.urljoin(f"{self.server}/", address)
        request = _request(whole)
        if credentials and whole.startswith(f"{self.server}/"):
            # "Unredirected": another server never sees it.
            request.add_unredirected_header("Authorization", _basic(*credentials))
        try:
            with self._lenient.open(request, timeout=self._seconds) as answer:
                _store(answer, into, most_bytes)
        except urllib.error.HTTPError as refused:
            with refused:
                raise Refused(f"{whole} answers {refused.code}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Unreachable(f"{whole} can't be fetched: {reason_of(error)}") from None


def _request(address: str) -> urllib.request.Request:
    if not is_web_address(address):
        raise Unreachable(f"{address} does not begin with http:// or https://")
    headers = {"User-Agent": AGENT, "Accept": "*/*", "Connection": "close"}
    return urllib.request.Request(address, headers=headers)  # noqa: S310 - looked at above


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _body(answer: urllib.error.HTTPError) -> bytes:
    try:
        with answer:
            return answer.read(LARGEST_ANSWER)
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"the answer broke off: {reason_of(error)}") from None


def _store(answer: http.client.HTTPResponse, into: Path, most_bytes: int) -> None:
    """Under another name until it is whole; nothing stays of one that is not."""
    into.parent.mkdir(parents=True, exist_ok=True)
    part = into.with_name(f"{into.name}.part")
    try:
        with part.open("wb") as file:
            copy_at_most(answer, file, most_bytes)
        part.replace(into)
    finally:
        part.unlink(missing_ok=True)


class Readable(Protocol):
    """What bytes come from."""

    def read(self, size: int, /) -> bytes: ...


def copy_at_most(source: Readable, target: IO[bytes], most_bytes: int) -> None:
    """Raises NotTaken when there is more."""
    left = most_bytes
    while data := source.read(min(CHUNK_BYTES, left + 1)):
        left -= len(data)
        if left < 0:
            raise NotTaken(f"a file is larger than {most_bytes / 2**20:.0f} MiB")
        target.write(data)


def _public_socket(host: str, port: int, seconds: float | None) -> socket.socket:
    """Connected to an address for everybody: looked up once, looked at, and then connected to."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    if not all(map(is_public, addresses)):
        raise NotTaken(f"{host} lies in this machine's own network ({ALLOWING})")
    return socket.create_connection((addresses[0], port), seconds)


class _PublicPlain(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = _public_socket(self.host, self.port, self.timeout)


class _PublicSecure(http.client.HTTPSConnection):
    def connect(self) -> None:
        plain = _public_socket(self.host, self.port, self.timeout)
        self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)


class _PlainWay(urllib.request.HTTPHandler):
    """To the server, to a proxy of the owner's, and else to public addresses alone."""

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = urllib.parse.urlsplit(server).netloc

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        trusted = req.host == self._server or req.has_proxy()
        return self.do_open(http.client.HTTPConnection if trusted else _PublicPlain, req)


class _SecureWay(urllib.request.HTTPSHandler):
    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = urllib.parse.urlsplit(server).netloc

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        # A request through a proxy is a tunnel, whose end the request no longer names.
        trusted = req.host == self._server or bool(urllib.request.getproxies().get("https"))
        return self.do_open(http.client.HTTPSConnection if trusted else _PublicSecure, req)
