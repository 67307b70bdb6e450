"""The one HTTP client against real servers on this machine."""

import contextlib
import gzip
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest

from rookery.core.http_client import HttpClient
from rookery.core.http_failures import CallRefused, NoAnswer, UnsafeAnswer
from tests.web_servers import web_server

PACKED = gzip.compress(b"0" * 1_000_000)


class Noting(BaseHTTPRequestHandler):
    """Answers by path, and notes what it was asked."""

    asked: ClassVar[list[tuple[str, str, str]]] = []
    elsewhere: ClassVar[str] = ""

    def do_GET(self) -> None:
        shown = self.headers.get("Authorization") or self.headers.get("Proxy-Authorization") or ""
        self.asked.append((self.path, self.headers["Host"], shown))
        answer = getattr(self, f"_{self.path.strip('/').partition('/')[0]}", self._plain)
        with contextlib.suppress(OSError):
            answer()

    def _plain(self) -> None:
        self._send(200, b"plain")

    def _packed(self) -> None:
        self._send(200, PACKED, ("Content-Encoding", "gzip"))

    def _moved(self) -> None:
        self._send(302, b"", ("Location", f"{self.elsewhere}/plain"))

    def _file(self) -> None:
        self._send(302, b"", ("Location", "file:///etc/passwd"))

    def _round(self) -> None:
        self._send(302, b"", ("Location", "/round"))

    def _short(self) -> None:
        self._send(200, b"half of it", ("Content-Length", "1000"))

    def _slow(self) -> None:
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(b"x")
            self.wfile.flush()

    def do_POST(self) -> None:
        """Begins its answer at once and takes three seconds over its head or its body."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if self.path == "/body" else b"X: "))
        with contextlib.suppress(OSError):
            for _ in range(60):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
            self.wfile.write(b"\r\n\r\n")

    def _missing(self) -> None:
        self._send(404, b"no")

    def _send(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers or (("Content-Length", str(len(body))),):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests look at what was asked."""


@pytest.fixture
def server() -> Iterator[str]:
    Noting.asked.clear()
    with web_server(Noting) as address:
        yield address


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> HttpClient:
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return HttpClient(5.0, 10_000)


def test_a_redirected_download_leaves_its_credentials_behind(
    server: str, client: HttpClient, tmp_path: Path
) -> None:
    with web_server(Noting) as other:
        Noting.elsewhere = other
        client.download(f"{server}/moved", tmp_path / "file", authorization="Basic secret")
    assert (tmp_path / "file").read_bytes() == b"plain"
    assert [shown for _, _, shown in Noting.asked] == ["Basic secret", ""]


def test_a_call_is_not_redirected(server: str, client: HttpClient) -> None:
    assert client.call("GET", f"{server}/moved").status == 302
    assert len(Noting.asked) == 1


@pytest.mark.parametrize(
    ("path", "words"),
    [("file", "does not begin with http"), ("short", "can't be fetched")],
)
def test_what_can_not_be_fetched_leaves_nothing(
    server: str, client: HttpClient, tmp_path: Path, path: str, words: str
) -> None:
    with pytest.raises(NoAnswer, match=words):
        client.download(f"{server}/{path}", tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("path", "words"), [("missing", "answers 404"), ("round", "in a circle")])
def test_what_is_not_to_be_had_is_told(
    server: str, client: HttpClient, tmp_path: Path, path: str, words: str
) -> None:
    with pytest.raises(CallRefused, match=words):
        client.download(f"{server}/{path}", tmp_path / "file")


def test_what_is_packed_does_not_unfold(server: str, client: HttpClient) -> None:
    assert client.call("GET", f"{server}/packed").body == PACKED


def test_an_answer_that_is_too_large_is_not_taken(server: str, client: HttpClient) -> None:
    with pytest.raises(UnsafeAnswer, match="larger than"):
        client.call("GET", f"{server}/slow")


def test_an_answer_that_never_ends_is_ended(server: str, client: HttpClient) -> None:
    with (
        pytest.raises(NoAnswer, match="takes too long"),
        HttpClient(0.2).open("GET", f"{server}/slow", whole_seconds=0.0) as stream,
    ):
        for _ in stream.lines():
            pass
    del client


@pytest.mark.parametrize("path", ["head", "body"])
def test_a_stranger_who_answers_byte_by_byte_is_left(server: str, path: str) -> None:
    with pytest.raises(NoAnswer, match="takes too long"):
        HttpClient(0.5).post_to_stranger(f"{server}/{path}", "127.0.0.1", b"{}")


def test_a_path_is_sent_as_it_is(server: str, client: HttpClient) -> None:
    client.call("GET", f"{server}/plain/../%2E%2E/x?y=../z")
    assert Noting.asked[0][0] == "/plain/../%2E%2E/x?y=../z"


def test_a_proxy_of_the_environment_is_told_the_whole_address(
    server: str, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.replace("http://", "http://anna:s%40d@"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    client.call("GET", "http://farm.example.org/plain?a=b")
    client.call("GET", f"{server}/plain")
    assert Noting.asked == [
        ("http://farm.example.org/plain?a=b", "farm.example.org", "Basic YW5uYTpzQGQ="),
        ("/plain", server.removeprefix("http://"), ""),
    ]
