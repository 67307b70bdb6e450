"""How a worker's calls travel: a new connection for each, a body in and a body out.

The status of an answer says nothing to a worker, only its body does. Redirected calls are not
followed, because they carry the password; redirected downloads are, without it.
"""

from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import urljoin

from rookery import __version__
from rookery.errors import Complaint
from rookery.http_client import LARGEST_FILE, SECONDS, HeldCall, HttpClient, basic

# What can go wrong between a worker, its server and a run.

Blame = Literal["run", "machine"]


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


LARGEST_ANSWER = 16 * 2**20


class Transport(Protocol):
    """A server as a worker reaches it; a test has its own."""

    server: str

    def post(self, path: str, body: bytes, held: HeldCall | None = None) -> bytes:
        """The answer's body; raises NoAnswer."""
        ...

    def fetch(
        self,
        address: str,
        into: Path,
        *,
        credentials: tuple[str, str] | None,
        most_bytes: int = LARGEST_FILE,
    ) -> None:
        """A file, from the server or from elsewhere; raises NoAnswer, CallRefused, UnsafeAnswer."""
        ...


class HttpTransport:
    """Over HTTP or HTTPS, with certificates verified."""

    def __init__(self, server: str, seconds: float = SECONDS, *, private: bool = False) -> None:
        """`private` lets files come from this machine's own network, not from the server alone."""
        self.server = server.rstrip("/")
        self._http = HttpClient(
            agent=f"rookery-worker/{__version__}",
            seconds=seconds,
            largest=LARGEST_ANSWER,
            home="" if private else self.server,
        )

    def post(self, path: str, body: bytes, held: HeldCall | None = None) -> bytes:
        kind = {"Content-Type": "application/json"}
        return self._http.call("POST", self.server + path, body=body, headers=kind, held=held).body

    def fetch(
        self,
        address: str,
        into: Path,
        *,
        credentials: tuple[str, str] | None,
        most_bytes: int = LARGEST_FILE,
    ) -> None:
        url = urljoin(f"{self.server}/", address)
        known = credentials if url.startswith(f"{self.server}/") else None
        shown = basic(*known) if known else ""
        self._http.download(url, into, authorization=shown, most_bytes=most_bytes)
