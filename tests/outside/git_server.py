"""A git server that notes by which names it is asked, and may send everybody elsewhere."""

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
    asked: list[str]

    def answer(self) -> None:
        self.asked.append(self.headers.get("Host", ""))
        if not self.elsewhere:
            super().answer()
            return
        self.send_response(302)
        self.send_header("Location", self.elsewhere + self.path)
        self.end_headers()


@contextmanager
def git_server(folder: Path, *, elsewhere: str = "") -> Iterator[GitServer]:
    """Serves the repositories below a folder, or sends everybody elsewhere."""
    asked: list[str] = []
    places = {"root": folder, "elsewhere": elsewhere, "asked": asked}
    with web_server(type("Handler", (_Handler,), places)) as address:
        yield GitServer(urlsplit(address).port or 0, asked)
