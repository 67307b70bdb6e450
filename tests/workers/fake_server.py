"""A server that stands in for a real one: answers worker calls as told, and remembers them."""

import json
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import chess
import msgspec

from rookery.core.model.engine import FLEDGLING
from tests.web_servers import web_server

Body = dict[str, Any]
Answer = Callable[[Body], Body | None]
"""None breaks the connection off, after the call was taken in."""

BENCH = "1234"
FLEDGLING_BENCH = "30939"
RUN = "0123456789abcdef01234567"
ROOKERY = {"version": "1", "features": ["make_spsa_slots"]}
MOVER = Path(__file__).parents[1] / "engines" / "mover.py"


def record(*words: str) -> Body:
    """The test engine, as a command that is on the machine."""
    # Without the site module, which takes as long as the rest of a start.
    place = f"PYTHONPATH={Path(chess.__file__).parents[1]}"
    command = shlex.join(("env", place, sys.executable, "-S", str(MOVER), *words))
    return {"name": "Mover", "recipe": {"kind": "installed", "output": command}}


def task(games: int = 4, **args: object) -> Body:
    """An answer to request_task: the test engine against itself."""
    plain = {
        "num_games": games,
        "tc": "N=1",
        "threads": 1,
        "new_tag": "patch",
        "base_tag": "master",
        "resolved_new": "a" * 40,
        "resolved_base": "b" * 40,
        "tests_repo": "https://example.org/engines/mover",
        "new_signature": BENCH,
        "base_signature": BENCH,
        "new_options": "",
        "base_options": "",
        "book": "tiny.epd",
        "book_depth": "0",
        "draw": {"from_move": 1, "moves": 1, "score": 1000},
        "new_engine": "Mover",
        "base_engine": "Mover",
        "new_record": record(),
        "base_record": record(),
    }
    mine = {"num_games": games, "start": 0}
    return {"run": {"_id": RUN, "args": plain | args, "my_task": mine}, "task_id": 0}


def fledgling(games: int = 4, **args: object) -> Body:
    """The bundled engine against itself, which plays in a sandbox too."""
    own = msgspec.to_builtins(FLEDGLING)
    bench = {"new_signature": FLEDGLING_BENCH, "base_signature": FLEDGLING_BENCH}
    return task(games, **{"new_record": own, "base_record": own, "tc": "N=20", **bench, **args})


def games_in(body: Body) -> int:
    """How many games a report counts."""
    stats: Body = body.get("stats", {})
    return sum(stats.get(name, 0) for name in ("wins", "losses", "draws"))


@dataclass
class FakeServer:
    """Written by the threads that serve, one call at a time."""

    tasks: list[Body] = field(default_factory=list)
    greeting: Body = field(default_factory=lambda: {"version": 325, "rookery": ROOKERY})
    answers: dict[str, Answer] = field(default_factory=dict)
    calls: list[tuple[str, Body]] = field(default_factory=list)
    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    """What can be fetched, by its path."""
    games: int = 4
    """How many make a task whole."""

    def answer(self, call: str, body: Body) -> Body | None:
        if call in self.answers:
            return self.answers[call](body)
        if call == "request_version":
            return self.greeting
        if call == "request_task":
            return self.tasks.pop(0) if self.tasks else {"task_waiting": False}
        if call in ("update_task", "beat"):
            return {"task_alive": not self._is_whole(body)}
        return {}

    def _is_whole(self, body: Body) -> bool:
        return games_in(body) >= self.games

    def of(self, call: str) -> list[Body]:
        """What came with the calls of this name."""
        return [body for name, body in self.calls if name == call]

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


@contextmanager
def fake_server(server: FakeServer) -> Iterator[FakeServer]:
    """Serves on a port of its own."""
    lock = threading.Lock()

    class Serving(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = self.path.removeprefix("/api/")
            with lock:
                server.calls.append((name, body))
                answer = server.answer(name, body)
            if answer is None:
                self.close_connection = True
                return
            self._send(json.dumps(answer | {"duration": 0.001}).encode())

        def _send(self, text: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            if self.path not in server.files:
                self.send_error(404)
                return
            self._send(server.files[self.path])

        def log_message(self, *_: object) -> None:
            """Tests read `calls`."""

    with web_server(Serving) as server.address:
        yield server
