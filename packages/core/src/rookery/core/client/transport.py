"""One call of the JSON API over HTTP: method, path and bytes in, bytes out, or an error that names
the server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from rookery.core.http_client import FIRST_REFUSAL, SECONDS, HttpClient, basic
from rookery.core.http_failures import CallFailed, CallRefused, NoAnswer

UNAUTHORIZED = 401
WHERE_FROM = " Commands take a token from `rookery login`, --token-file or ROOKERY_TOKEN."
CUT_OFF = (
    "{server} ended the connection while {file} was sent: it may be larger than the server"
    " takes (ROOKERY_UPLOAD_MB there), or the token is not valid."
)
WHOLE_STREAM_SECONDS = float("inf")
LONGEST_TEXT = 500


class ApiTransport(Protocol):
    """The transport of API calls. Tests have their own."""

    server: str

    def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return the answer's body; raise CallRefused or NoAnswer."""
        ...

    def upload(self, method: str, path: str, file: Path) -> bytes:
        """Send a file as the body, however large, and return the body of the answer."""
        ...


class ErrorAnswer(msgspec.Struct):
    """The body of every refusal."""

    error: str


class HttpApiTransport:
    """API calls over HTTP or HTTPS, with a token, or with name and password for the few calls that
    require the person."""

    def __init__(
        self,
        server: str,
        token: str = "",
        seconds: float = SECONDS,
        *,
        login: tuple[str, str] | None = None,
    ) -> None:
        self.server = server.rstrip("/")
        shown = basic(*login) if login else f"Bearer {token}" if token else ""
        self._authorization = {"Authorization": shown} if shown else {}
        self._hint = "" if login else WHERE_FROM
        self._http = HttpClient(seconds)

    def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        kind = {} if body is None else {"Content-Type": "application/json"}
        headers = kind | self._authorization
        answer = self._http.call(method, self.server + path, body=body, headers=headers)
        return _accepted(answer.status, answer.phrase, answer.body, self._hint)

    def upload(self, method: str, path: str, file: Path) -> bytes:
        with file.open("rb") as data:
            headers = self._authorization | {
                "Content-Type": "application/octet-stream",
                # Without a length, urllib3 would send the pieces chunked.
                "Content-Length": str(file.stat().st_size),
            }
            try:
                answer = self._http.call(method, self.server + path, body=data, headers=headers)
            except NoAnswer as problem:
                if isinstance(problem.__cause__, BrokenPipeError | ConnectionResetError):
                    raise NoAnswer(CUT_OFF.format(server=self.server, file=file.name)) from None
                raise
        return _accepted(answer.status, answer.phrase, answer.body, self._hint)

    def lines(self, path: str, after: str, seconds: float) -> Iterator[bytes]:
        """Return an endless answer, line by line. `seconds` is how long it may be silent."""
        headers = {"Last-Event-ID": after} if after else {}
        return self._lines("GET", path, None, headers, seconds)

    def stream(self, path: str, body: bytes, seconds: float) -> Iterator[bytes]:
        """Return the answer to a body, line by line as the server makes it."""
        return self._lines("POST", path, body, {"Content-Type": "application/json"}, seconds)

    def _lines(
        self, method: str, path: str, body: bytes | None, more: dict[str, str], seconds: float
    ) -> Iterator[bytes]:
        with HttpClient(seconds).open(
            method,
            self.server + path,
            body=body,
            headers=self._authorization | more,
            whole_seconds=WHOLE_STREAM_SECONDS,
        ) as stream:
            if stream.status >= FIRST_REFUSAL:
                _accepted(stream.status, stream.phrase, stream.read(), self._hint)
            yield from stream.lines()


def not_rookery(server: str) -> CallFailed:
    """Return the error for an answer that does not come from a Rookery server."""
    return CallFailed(f"What answers at {server} is not a Rookery server of this version.")


def _accepted(status: int, phrase: str, body: bytes, where_from: str) -> bytes:
    """Return the body of an accepted call. Raise CallRefused for a refusal."""
    if status < FIRST_REFUSAL:
        return body
    text = _words(body) or phrase
    hint = where_from if status == UNAUTHORIZED else ""
    raise CallRefused(f"The server refuses ({status}): {text}{hint}", status, text)


def _words(body: bytes) -> str:
    """Return the server's error message, without the request's path."""
    try:
        words = msgspec.json.decode(body, type=ErrorAnswer).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    head, _, tail = words.partition(": ")
    return (tail if head.startswith("/") and tail else words)[:LONGEST_TEXT]
