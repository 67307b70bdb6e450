"""Files that a worker fetches from its server."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from rookery.boundary.offload import Threads
from rookery.http_client import CallRefused, HeldCall, NoAnswer
from rookery.worker.engines.orders import NotOffered
from rookery.worker.preparing import ServerDownloads
from rookery.worker.reporting import RetryPolicy
from rookery.worker.server import ServerCalls, WorkerAccount
from rookery.worker.stopping import SilentWatcher

AT_ONCE = RetryPolicy(seconds=0.0)


class Server:
    """Answers as a test says, and remembers what was asked for."""

    server = "https://farm.example.org"

    def __init__(self, act: Callable[[int], None] = lambda _: None) -> None:
        self.asked: list[tuple[str, tuple[str, str] | None]] = []
        self._act = act

    def post(self, path: str, body: bytes, held: HeldCall | None = None) -> bytes:
        raise AssertionError(path, body)

    def fetch(
        self,
        address: str,
        into: Path,
        *,
        credentials: tuple[str, str] | None,
        most_bytes: int = 0,
    ) -> None:
        del into, most_bytes
        self.asked.append((address, credentials))
        self._act(len(self.asked))


def downloads(server: Server) -> ServerDownloads:
    talk = ServerCalls(server, WorkerAccount("olga", "secret"))
    return ServerDownloads(talk, Threads(), SilentWatcher(), AT_ONCE)


def test_a_net_comes_with_the_workers_credentials() -> None:
    server = Server()
    asyncio.run(downloads(server).net("nn-1.nnue", Path("x")))
    assert server.asked == [("/api/nn/nn-1.nnue", ("olga", "secret"))]


def test_another_projects_server_gets_no_password() -> None:
    server = Server()
    offered = downloads(server)
    offered.foreign = True
    asyncio.run(offered.net("nn-1.nnue", Path("x")))
    assert server.asked == [("/api/nn/nn-1.nnue", None)]


def test_a_server_that_comes_back_is_asked_again() -> None:
    def away_twice(times: int) -> None:
        if times < 3:
            raise NoAnswer("gone")

    server = Server(away_twice)
    asyncio.run(downloads(server).binary("ab", Path("x")))
    assert len(server.asked) == 3


def test_what_a_server_has_not_is_not_offered() -> None:
    def refuse(_: int) -> None:
        raise CallRefused("404")

    with pytest.raises(NotOffered):
        asyncio.run(downloads(Server(refuse)).net("nn-1.nnue", Path("x")))


def test_a_server_that_stays_away_is_trouble() -> None:
    def away(_: int) -> None:
        raise NoAnswer("gone")

    with pytest.raises(OSError, match="gone"):
        asyncio.run(downloads(Server(away)).net("nn-1.nnue", Path("x")))


def test_sources_are_the_servers_only_where_they_live_there() -> None:
    server = Server()
    offered = downloads(server)
    with pytest.raises(NotOffered):
        asyncio.run(offered.source("https://github.com/a/b", "c" * 40, Path("x")))
    asyncio.run(offered.source(f"{server.server}/src/b", "c" * 40, Path("x")))
    assert [address for address, _ in server.asked] == [f"{server.server}/src/b/zipball/{'c' * 40}"]
