"""What a worker takes over HTTP, and from whom: real servers, on this machine alone."""

import contextlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from rookery.core.http_failures import UnsafeAnswer
from rookery.worker.server import HttpTransport
from tests.web_servers import web_server

PIECE = b"x" * 1000


class Pouring(BaseHTTPRequestHandler):
    """Never says how much will come, and stops only when nobody takes any more."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(PIECE)

    def log_message(self, *_: object) -> None:
        """Tests look at what was fetched."""


class Short(Pouring):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(PIECE)


@contextlib.contextmanager
def leading(to: str) -> Iterator[str]:
    """A server that sends everybody elsewhere."""

    class Leading(Pouring):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"{to}/file")
            self.end_headers()

    with web_server(Leading) as address:
        yield address


def fetch(server: str, into: Path, *, private: bool = False) -> None:
    transport = HttpTransport(server, private=private)
    transport.fetch("/file", into, credentials=None, most_bytes=100_000)


def test_a_file_without_end_is_ended_and_nothing_stays(tmp_path: Path) -> None:
    with web_server(Pouring) as server, pytest.raises(UnsafeAnswer, match="larger than"):
        fetch(server, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_a_server_may_lead_nobody_to_another_service_of_the_workers_network(
    tmp_path: Path,
) -> None:
    with (
        web_server(Short) as inner,
        leading(inner) as server,
        pytest.raises(UnsafeAnswer, match=r"127\.0\.0\.1 lies in this machine's own network"),
    ):
        fetch(server, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_the_owner_may_allow_it(tmp_path: Path) -> None:
    with web_server(Short) as inner, leading(inner) as server:
        fetch(server, tmp_path / "file", private=True)
    assert (tmp_path / "file").read_bytes() == PIECE


def test_the_server_itself_may_be_in_the_workers_own_network(tmp_path: Path) -> None:
    with web_server(Short) as server:
        fetch(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == PIECE
