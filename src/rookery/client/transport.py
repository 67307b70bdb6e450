"""One HTTP call: a method, a path and bytes in, bytes out, or a problem that names the server."""

import base64
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

import msgspec

from rookery import __version__
from rookery.errors import Complaint
from rookery.over_http import NoRedirects, cause_of, is_web_address, reason_of

# What can go wrong between us and a server, as sentences.

UNAUTHORIZED = 401
WHERE_FROM = " Commands take a token from `rookery login`, --token-file or ROOKERY_TOKEN."


class ApiRefused(Complaint):
    """The server answered, and the answer is no."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        self.text = text
        hint = WHERE_FROM if status == UNAUTHORIZED else ""
        super().__init__(f"The server refuses ({status}): {text}{hint}")


class ApiUnreachable(Complaint):
    """Nobody answers at that address."""

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(f"No server answers at {server}: {reason}.")


class UploadCutOff(Complaint):
    """The server stopped listening before a file was sent."""

    def __init__(self, server: str, file: str) -> None:
        super().__init__(
            f"{server} ended the connection while {file} was sent: it may be larger than the server"
            " takes (ROOKERY_UPLOAD_MB there), or the token does not count."
        )


class BadAnswer(Complaint):
    """What answers does not speak this API."""

    def __init__(self, server: str) -> None:
        super().__init__(f"What answers at {server} is not a Rookery server of this version.")


SECONDS = 30.0
LARGEST_ANSWER = 64 * 2**20
LONGEST_TEXT = 500


class Transport(Protocol):
    """How calls travel; a test has its own."""

    server: str

    def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """The answer's body; raises ApiRefused or ApiUnreachable."""
        ...

    def upload(self, method: str, path: str, file: Path) -> bytes:
        """The same with a file as it is, however large."""
        ...


class ErrorAnswer(msgspec.Struct):
    """What every refusal carries."""

    error: str


class HttpTransport:
    """Over HTTP or HTTPS, with the token of whoever calls, or with name and password for the few
    calls that take somebody in person."""

    def __init__(
        self,
        server: str,
        token: str = "",
        seconds: float = SECONDS,
        *,
        login: tuple[str, str] | None = None,
    ) -> None:
        self.server = server.rstrip("/")
        self._authorization = f"Bearer {token}" if token else ""
        if login:
            shown = base64.b64encode(":".join(login).encode()).decode()
            self._authorization = f"Basic {shown}"
        self._seconds = seconds
        self._opener = urllib.request.build_opener(NoRedirects)

    def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        kind = "" if body is None else "application/json"
        return self._answer(lambda: self._request(method, path, body, kind))

    def upload(self, method: str, path: str, file: Path) -> bytes:
        with file.open("rb") as data:
            size = file.stat().st_size

            def made() -> urllib.request.Request:
                request = self._request(method, path, data, "application/octet-stream")
                # Without a length the pieces would be sent as chunks.
                request.add_header("Content-Length", str(size))
                return request

            try:
                return self._answer(made)
            except ApiUnreachable as problem:
                if isinstance(problem.__cause__, BrokenPipeError | ConnectionResetError):
                    raise UploadCutOff(self.server, file.name) from None
                raise

    def lines(self, path: str, after: str, seconds: float) -> Iterator[bytes]:
        """An answer without an end, line by line; `seconds` is how long it may be silent."""

        def made() -> urllib.request.Request:
            request = self._request("GET", path, None, "")
            if after:
                request.add_header("Last-Event-ID", after)
            return request

        with self._opened(made, seconds) as answer:
            while line := answer.readline(LARGEST_ANSWER):
                yield line

    def _answer(self, made: Callable[[], urllib.request.Request]) -> bytes:
        with self._opened(made, self._seconds) as answer:
            return answer.read(LARGEST_ANSWER)

    @contextmanager
    def _opened(
        self, made: Callable[[], urllib.request.Request], seconds: float
    ) -> Iterator[IO[bytes]]:
        """An answer to be read; what goes wrong at that is a problem with the server too."""
        try:
            with self._opener.open(made(), timeout=seconds) as answer:
                yield answer
        except urllib.error.HTTPError as refused:
            with refused:
                raise ApiRefused(refused.code, _text(refused)) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ApiUnreachable(self.server, reason_of(error)) from cause_of(error)

    def _request(
        self, method: str, path: str, body: bytes | IO[bytes] | None, kind: str
    ) -> urllib.request.Request:
        if not is_web_address(self.server):
            raise ValueError("its address does not begin with http:// or https://")
        headers = {"User-Agent": f"rookery/{__version__}", "Accept": "*/*"}
        if kind:
            headers["Content-Type"] = kind
        if self._authorization:
            headers["Authorization"] = self._authorization
        return urllib.request.Request(  # noqa: S310 - the scheme was looked at above
            self.server + path, data=body, headers=headers, method=method
        )


def _text(refused: urllib.error.HTTPError) -> str:
    """The server's own words, without the path that we know."""
    try:
        words = msgspec.json.decode(refused.read(LARGEST_ANSWER), type=ErrorAnswer).error
    except (msgspec.MsgspecError, UnicodeDecodeError, OSError):
        return str(refused.reason)
    head, _, tail = words.partition(": ")
    return (tail if head.startswith("/") and tail else words)[:LONGEST_TEXT]
