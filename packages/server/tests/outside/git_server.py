"""A git server that notes by which names it is asked, may ask for a password, and may send
everybody elsewhere."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.git_backend import GitBackend
from tests.web_servers import web_server


@dataclass(frozen=True, slots=True)
class GitServer:
    """Where it listens, and which hosts it was asked for."""

    port: int
    asked: list[str] = field(default_factory=list)

    def address(self, host: str, name: str) -> str:
        return f"http://{host}:{self.port}/{name}"


class _Handler(GitBackend):
    elsewhere: str
    password: str
    asked: list[str]

    def answer(self) -> None:
        self.asked.append(self.headers.get("Host", ""))
        if self.elsewhere:
            self._refuse(302, "Location", self.elsewhere + self.path)
        elif self.password and self.headers.get("Authorization", "") != self._expected():
            self._refuse(401, "WWW-Authenticate", "Basic")
        else:
            super().answer()

    def _expected(self) -> str:
        return f"Basic {b64encode(self.password.encode()).decode()}"

    def _refuse(self, status: int, header: str, value: str) -> None:
        self.send_response(status)
        self.send_header(header, value)
        self.end_headers()


@contextmanager
def git_server(folder: Path, *, elsewhere: str = "", password: str = "") -> Iterator[GitServer]:
    """Serves the repositories below a folder, to those who know `password` (`user:word`) if there
    is one, or sends everybody elsewhere."""
    asked: list[str] = []
    places = {"root": folder, "elsewhere": elsewhere, "password": password, "asked": asked}
    with web_server(type("Handler", (_Handler,), places)) as address:
        yield GitServer(urlsplit(address).port or 0, asked)
