"""How a worker's calls travel: a new connection for each, a body in and a body out.

The status of an answer says nothing to a worker, only its body does. Redirected calls are not
followed, because they carry the password; redirected downloads are, without it.
"""

import base64
import http.client
import shutil
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Protocol

from rookery import __version__
from rookery.over_http import NoRedirects, is_web_address, reason_of
from rookery.worker.session.faults import Refused, Unreachable

SECONDS = 30.0
LARGEST_ANSWER = 16 * 2**20
NOT_FOUND = 404
AGENT = f"rookery-worker/{__version__}"


class Transport(Protocol):
    """A server as a worker reaches it; a test has its own."""

    server: str

    def post(self, path: str, body: bytes) -> bytes:
        """The answer's body; raises Unreachable."""
        ...

    def fetch(self, address: str, into: Path, *, credentials: tuple[str, str] | None) -> None:
        """A file, from the server or from elsewhere; raises Unreachable or Refused."""
        ...


class HttpTransport:
    """Over HTTP or HTTPS, with certificates verified."""

    def __init__(self, server: str, seconds: float = SECONDS) -> None:
        self.server = server.rstrip("/")
        self._seconds = seconds
        self._strict = urllib.request.build_opener(NoRedirects)
        self._lenient = urllib.request.build_opener()

    def post(self, path: str, body: bytes) -> bytes:
        request = _request(self.server + path)
        request.add_header("Content-Type", "application/json")
        request.data = body
        try:
            with self._strict.open(request, timeout=self._seconds) as answer:
                received: bytes = answer.read(LARGEST_ANSWER)
                return received
        except urllib.error.HTTPError as answer:
            return _body(answer)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.server} gives no answer: {reason_of(error)}") from None

    def fetch(self, address: str, into: Path, *, credentials: tuple[str, str] | None) -> None:
        whole = urllib.parse.urljoin(f"{self.server}/", address)
        request = _request(whole)
        if credentials and whole.startswith(f"{self.server}/"):
            # "Unredirected": another server never sees it.
            request.add_unredirected_header("Authorization", _basic(*credentials))
        try:
            with self._lenient.open(request, timeout=self._seconds) as answer:
                _store(answer, into)
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


def _store(answer: http.client.HTTPResponse, into: Path) -> None:
    """Under another name until it is whole."""
    into.parent.mkdir(parents=True, exist_ok=True)
    part = into.with_name(f"{into.name}.part")
    with part.open("wb") as file:
        shutil.copyfileobj(answer, file)
    part.replace(into)
