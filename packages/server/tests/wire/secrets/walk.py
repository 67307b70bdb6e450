"""Calls every address of an app with whatever somebody may have heard of.

A new route is walked by itself. Where it has a parameter that the walk has no words for, the walk
fails, and whoever made the route teaches it some.
"""

import asyncio
import contextlib
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Message, Scope

from rookery.server.http.inventory import named_routes
from rookery.server.sources.commits import mirror_name
from tests.wire.secrets.plants import BOOK, ENGINE, KEY, NET_NAME, REPOSITORY, TEAM, Planted

AT_A_TIME = 20
SILENCE_SECONDS = 0.15
"""A stream that says nothing for so long has said what it has to say."""
LIMIT_SECONDS = 60
QUERIES = (
    "",
    "page=1",
    "state=finished",
    "owner=olga",
    "username=olga&page=1",
    "user=olga",
    "actor=olga",
    "action=worker_log",
    "after=0",
    "q=zq",
    "only=ltc",
)
OF_RUN = ("run={}", "run={}&task=0")
FIXED = frozenset({"/api", "/docs", "/docs/why", "/metrics", "/openapi.json", "/sprt"})
"""Long answers, of which no query can choose what they are about: they are asked for once."""
FILTERS: tuple[object, ...] = ({}, {"username": "olga"}, {"action": "new_run"})


@dataclass(frozen=True, slots=True)
class Asked:
    """One call; what was said in it may be heard again."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""

    @property
    def said(self) -> str:
        return f"{self.path}?{self.query} {self.body.decode()}"

    def about(self, run_id: str, other: str) -> "Asked":
        """The same of another run."""
        path, query = self.path.replace(run_id, other), self.query.replace(run_id, other)
        body = self.body.replace(run_id.encode(), other.encode())
        return Asked(self.method, path, query, body)

    def __str__(self) -> str:
        return f"{self.method} {self.path}?{self.query}"


@dataclass(frozen=True, slots=True)
class Heard:
    status: int
    head: str
    text: str

    def holds(self, word: str) -> bool:
        return word in self.text or word in self.head

    def about(self, run_id: str, other: str) -> str:
        """The same of another run, without times and the number of the request."""
        plain = self.text.replace(run_id, other)
        return re.sub(r'"duration":[0-9.e-]+|Request <code>[^<]*|retry: [0-9]+', "", plain)


@dataclass(frozen=True, slots=True)
class Walk:
    """An app, and what is known of it from hearsay."""

    app: Starlette
    planted: Planted
    headers: Mapping[str, str] = field(default_factory=dict)

    async def ask(self, asked: Asked) -> Heard:
        return await _called(self.app, asked, self.headers)

    async def ask_all(self, calls: Iterable[Asked]) -> list[tuple[Asked, Heard]]:
        """Some at a time, because a stream is listened to for a while."""
        waiting, found = list(calls), list[tuple[Asked, Heard]]()
        while waiting:
            batch, waiting = waiting[:AT_A_TIME], waiting[AT_A_TIME:]
            found += zip(batch, await asyncio.gather(*map(self.ask, batch)), strict=True)
        return found

    async def leaks(self) -> dict[str, set[str]]:
        """What was found where, by reading all there is and trying all that changes something."""
        return await self.leaks_of((*self.reads(), *self.changes()))

    async def leaks_of(self, calls: Iterable[Asked]) -> dict[str, set[str]]:
        """What was found by these calls."""
        found = {}
        for asked, heard in await self.ask_all(calls):
            # The search is the test's own work, and the loop has other things to do.
            await asyncio.sleep(0)
            secrets = {word for word in self.planted.secrets if heard.holds(word)}
            if told := {word for word in secrets if word not in asked.said}:
                found[str(asked)] = told
        return found

    def reads(self) -> Iterator[Asked]:
        for route in _routes(self.app):
            for path in paths_of(route.path, self.planted):
                if "GET" in (route.methods or ()):
                    yield from (Asked("GET", path, query) for query in self._queries(path))
        for wanted in (*FILTERS, *({"run_id": run} for run in self.planted.runs)):
            yield Asked("POST", "/api/actions", body=json.dumps(wanted).encode())

    def changes(self) -> Iterator[Asked]:
        for route in _routes(self.app):
            for method in sorted((route.methods or set()) - {"GET", "HEAD"}):
                for path in paths_of(route.path, self.planted):
                    yield Asked(method, path, body=b"{}")

    def _queries(self, path: str) -> Iterator[str]:
        if path in FIXED:
            yield ""
            return
        yield from QUERIES
        yield from (text.format(run) for text in OF_RUN for run in self.planted.runs)


def paths_of(pattern: str, planted: Planted) -> list[str]:
    """The addresses of a route, with all that can be put in the place of its parameters."""
    found = [pattern]
    for name in re.findall(r"{(\w+)(?::\w+)?}", pattern):
        words = _words(pattern, name, planted)
        place = re.compile(rf"{{{name}(?::\w+)?}}")
        found = [place.sub(word, path) for path in found for word in words]
    return found


def _words(pattern: str, name: str, planted: Planted) -> list[str]:
    named = {
        "/api/pgn/{name}": [f"{run}-{task}.pgn" for run in planted.runs for task in (0, 1)],
        "/api/run_pgns/{name}": [f"{run}.pgn.gz" for run in planted.runs],
        "/api/nn/{name}": [NET_NAME],
        "/api/book/{name}": [BOOK],
        "/api/v1/books/{name}": [BOOK],
        "/api/v1/engines/{name}": [ENGINE],
        "/engines/{name}": [ENGINE],
        "/nets/{name}/remove": [NET_NAME],
        "/books/{name}": [BOOK],
        "/books/{name}/remove": [BOOK],
        "/engines/{name}/edit": [ENGINE],
        "/engines/{name}/restore": [ENGINE],
        "/engines/{name}/remove": [ENGINE],
        "/api/v1/nets/{name}": [NET_NAME],
        "/api/v1/engines/{name}/versions": [ENGINE],
        "/engines/{name}/progress": [ENGINE],
        "/api/v1/engines/{name}/restore": [ENGINE],
        "/src/{name}/zipball/{sha}": [mirror_name(REPOSITORY)],
        "/static/{digest}/{name}": ["x"],
        "/worker/{name}": ["x"],
        "/docs/{name}": ["why"],
    }
    words = {
        "run_id": [*planted.runs, planted.shown],
        "task_id": ["0", "1", "0bad"],
        "log_id": ["1"],
        "channel_id": ["1"],
        "number": ["0"],
        "token_id": ["0123456789ab"],
        "sha": ["a" * 40],
        "session": ["0" * 32],
        "document": ["0" * 32],
        "sha256": [planted.program],
        "team": [TEAM],
        "user": ["olga", "sven"],
        "digest": ["x"],
        "command": ["approve", "stop", "delete"],
        "worker": [f"olga-8cores-{KEY}"],
    }
    found = named.get(pattern) if name == "name" else words.get(name)
    assert found is not None, f"teach the walk what to put for {name} in {pattern}"
    return found


def _routes(app: Starlette) -> Iterator[Route]:
    for name, route in named_routes(app.routes):
        assert isinstance(route, Route), f"teach the walk to enter {name}"
        yield route


async def _called(app: Starlette, asked: Asked, headers: Mapping[str, str]) -> Heard:
    """A stream is left once it falls silent."""
    given = {"host": "localhost", "accept-encoding": "gzip", **headers}
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": asked.method,
        "scheme": "http",
        "path": asked.path,
        "raw_path": asked.path.encode(),
        "query_string": asked.query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("192.0.2.7", 1),
        "server": ("127.0.0.1", 80),
    }
    messages: asyncio.Queue[Message] = asyncio.Queue()
    body: list[Message] = [{"type": "http.request", "body": asked.body, "more_body": False}]
    gone = asyncio.Event()

    async def receive() -> Message:
        if body:
            return body.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    task = asyncio.create_task(app(scope, receive, messages.put))
    try:
        return await _heard(messages)
    finally:
        gone.set()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _heard(messages: "asyncio.Queue[Message]") -> Heard:
    begun = await asyncio.wait_for(messages.get(), LIMIT_SECONDS)
    endless = b"text/event-stream" in b" ".join(value for _, value in begun["headers"])
    pieces, more = [], True
    while more:
        try:
            seconds = SILENCE_SECONDS if endless else LIMIT_SECONDS
            message = await asyncio.wait_for(messages.get(), seconds)
        except TimeoutError:
            break
        pieces.append(bytes(message.get("body", b"")))
        more = bool(message.get("more_body", False))
    return Heard(int(begun["status"]), repr(begun["headers"]), _readable(b"".join(pieces)))


def _readable(body: bytes) -> str:
    """Unpacked where it is packed."""
    with contextlib.suppress(OSError, EOFError, zlib.error):
        body = gzip.decompress(body)
    return body.decode("latin-1")
