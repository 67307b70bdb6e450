"""Sends reports in order, each until the server has received it, while games continue."""

import asyncio
import contextlib
import gzip
import io
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Self, TypeVar

from msgspec import UNSET, UnsetType

from rookery.core.boundary.offload import Threads
from rookery.core.http_failures import CallRefused, NoAnswer
from rookery.core.model.bounds import LONGEST_MESSAGE
from rookery.core.protocol.worker_requests import LONGEST_LOG, Failure
from rookery.match.job import GameEnded, Termination
from rookery.match.pgn import pgn_text
from rookery.worker.assignment import Assignment
from rookery.worker.engines.orders import TaskFailed
from rookery.worker.identity import WorkerIdentity
from rookery.worker.server import ServerCalls, TaskId, TaskProgress
from rookery.worker.stopping import Watcher

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a call is tried, and the seconds in between. The protocol asks for five attempts. A
    Rookery server keeps a silent task for six minutes, so that retrying for that long is
    worthwhile."""

    attempts: int = 5
    seconds: float = 15.0


ROOKERY_RETRIES = RetryPolicy(attempts=25)
ONCE = RetryPolicy(attempts=1)


async def retry_call(
    call: Callable[[], T], patience: RetryPolicy, threads: Threads, watch: Watcher
) -> T:
    """Make a call that may be repeated, and return its answer. Raises CallRefused or NoAnswer."""
    for attempt in range(1, patience.attempts):
        try:
            return await threads.io(call)
        except NoAnswer as error:
            watch.say(f"{error}; attempt {attempt} of {patience.attempts}")
            await asyncio.sleep(patience.seconds)
    return await threads.io(call)


class ReportQueue:
    """Sends updates to the server until the server wants no more, or the queue is closed."""

    def __init__(
        self,
        send: Callable[[TaskProgress], bool],
        patience: RetryPolicy,
        threads: Threads,
        watch: Watcher,
    ) -> None:
        self._send = send
        self._patience = patience
        self._threads = threads
        self._watch = watch
        self._waiting: asyncio.Queue[TaskProgress | None] = asyncio.Queue()

    def put(self, told: TaskProgress) -> None:
        self._waiting.put_nowait(told)

    async def idle(self) -> None:
        """Wait until the server has received all reports."""
        await self._waiting.join()

    def close(self) -> None:
        """Say that no more reports will come."""
        self._waiting.put_nowait(None)

    async def run(self) -> bool:
        """Send reports until the end. Returns whether the task is still alive. Raises
        TaskFailed."""
        while (told := await self._waiting.get()) is not None:
            if not await self._carry(told):
                return False
            self._waiting.task_done()
        return True

    async def send_last(self) -> None:
        """Send the latest waiting report after the server has ended the task, so that the player is
        credited. Totals are absolute, so the last report contains everything."""
        latest = None
        while not self._waiting.empty():
            latest = self._waiting.get_nowait() or latest
        if latest is not None:
            with contextlib.suppress(TaskFailed):
                await self._carry(latest, ONCE)

    async def _carry(self, told: TaskProgress, patience: RetryPolicy | None = None) -> bool:
        def send() -> bool:
            return self._send(told)

        try:
            return await retry_call(send, patience or self._patience, self._threads, self._watch)
        except CallRefused as refused:
            raise TaskFailed(f"The server refused a result: {refused}") from None
        except NoAnswer as error:
            raise TaskFailed(f"Too many failed updates: {error}") from None


# The heartbeat. It has its own thread, so that neither a build nor the loop can delay it.

PERIOD_SECONDS = 120.0
AGAIN_SECONDS = 15.0
TICK_SECONDS = 1.0


class Heartbeat:
    """Beats for one task whenever the server has not heard from it for a while.

    `beat` returns whether the task is alive. When it is not, `lost` is called in the heartbeat's
    thread.
    """

    def __init__(
        self,
        beat: Callable[[], bool],
        lost: Callable[[], object],
        *,
        period: float = PERIOD_SECONDS,
        tick: float = TICK_SECONDS,
    ) -> None:
        self._beat = beat
        self._lost = lost
        self._period = period
        self._tick = tick
        self.stopped = False
        """Whether the server has said that the task is over."""
        self._ended = threading.Event()
        self._last = monotonic()
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The thread is not awaited: the answer to a beat under way no longer matters.
        self._ended.set()

    def heard(self) -> None:
        """Note that the server has just received another call."""
        self._last = monotonic()

    def _run(self) -> None:
        while not self._ended.wait(self._tick):
            if monotonic() - self._last < self._period:
                continue
            self._last = monotonic()
            if not self._alive() and not self._ended.is_set():
                self.stopped = True
                self._lost()
                return

    def _alive(self) -> bool:
        try:
            return self._beat()
        except CallRefused:
            return False
        except NoAnswer:
            # The outcome is unknown. Try again soon, because the server may be unreachable only for
            # a moment.
            self._last -= max(0.0, self._period - AGAIN_SECONDS)
            return True


# The games of a task as PGN, and reports about failed ones.

LARGEST = 100 * 2**20
_COMMENT = re.compile(r"\s*\{[^}]*\}")


class GameFile:
    """A PGN file, written game by game in threads, one at a time, and compressed once at the
    end."""

    def __init__(self, file: Path, task: Assignment, server: str) -> None:
        new, base = task.plan.sides
        self.file = file
        self._detail = task.plan.pgn_detail or "full"
        self._stem = f"{task.name.run}-{task.name.task}.pgn"
        self._tags = [
            ("Event", f"Batch {task.name.task}: {new.tag} vs {base.tag}"),
            ("Site", f"{server}/tests/view/{task.name.run}"),
        ]
        self._size = 0

    def add(self, ended: GameEnded) -> None:
        """Add a game. Games of fastchess have no moves here, since fastchess writes its own
        file."""
        if self._detail == "none" or not ended.result.fen or self._size > LARGEST:
            return
        text = pgn_text(
            ended.result, [*self._tags, ("Round", f"{ended.pair + 1}.{ended.game + 1}")]
        )
        if self._detail == "moves":
            text = _COMMENT.sub("", text)
        self._size += len(text)
        try:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            # The results matter more than the moves: a full disk ends the file, not the task.
            self._size = LARGEST + 1

    def packed(self) -> bytes | None:
        """All games, compressed with gzip, which includes a file name; None if there are none."""
        if not self.file.exists():
            return None
        into = io.BytesIO()
        with (
            self.file.open("rb") as file,
            gzip.GzipFile(self._stem, "wb", fileobj=into) as pack,
        ):
            while block := file.read(2**20):
                pack.write(block)
        return into.getvalue()


class EngineFailures:
    """Counts engines' failures in games. Of each kind the 1st, 2nd, 4th, 8th and so on are
    reported."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Termination]] = Counter()

    def noted(self, ended: GameEnded) -> str:
        """Return the report for the server; empty if there is nothing to report."""
        game = ended.result
        if not game.failed:
            return ""
        self._counts[game.failed, game.termination] += 1
        count = self._counts[game.failed, game.termination]
        if count & (count - 1):
            return ""
        where = f"pair {ended.pair + 1}, game {ended.game + 1}"
        head = f"{game.failed} lost by {game.termination.value} for the {_ordinal(count)} time"
        lines = "\n".join(game.lines)
        moves = " ".join(played.move for played in game.moves)
        text = f"{head} ({where}): {game.reason}\n{lines}\n{game.fen} {moves}"
        return text[:LONGEST_MESSAGE]


def _ordinal(count: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(count % 10 if count % 100 not in (11, 12, 13) else 0)
    return f"{count}{ending or 'th'}"


class WrongSignature(TaskFailed):
    """An engine is not the one that its author measured."""

    def __init__(self, engine: str, *, expected: int, found: int) -> None:
        super().__init__(
            f"Wrong bench in {engine}, user expected: {expected} but worker got: {found}",
            blame="run",
        )
        self.found = found


# Reports to the server that a task can't be played, with everything that helps to find out why.

HEAD_SHARE = 0.75
"""The share of a shortened log that is taken from its head, where the first compiler error is; the
rest is from its end."""
CUT = "\n[...]\n"


class FailureReports:
    """Reports the failure of one task to the server."""

    def __init__(
        self,
        server: ServerCalls,
        identity: WorkerIdentity,
        name: TaskId,
        threads: Threads,
        watch: Watcher,
    ) -> None:
        self._server = server
        self._identity = identity
        self._name = name
        self._threads = threads
        self._watch = watch

    async def tell(self, failed: TaskFailed, patience: RetryPolicy) -> None:
        """Report a failure. A wrong bench stops the run; any other failure ends only this task."""
        message, more = self.message(failed)
        wrong = isinstance(failed, WrongSignature)
        call = self._server.stop_run if wrong else self._server.failed
        info = self._identity.info
        try:
            await retry_call(
                lambda: call(info, self._name, message, more), patience, self._threads, self._watch
            )
        except CallRefused as refused:
            self._watch.say(f"The server says: {refused}")
        except NoAnswer as error:
            self._watch.say(f"The report to the server failed: {error}")

    def message(self, failed: TaskFailed) -> tuple[str, Failure | UnsetType]:
        """Return the report: the whole log for a Rookery server, its beginning and end for
        another."""
        if self._identity.is_rookery:
            bench = failed.found if isinstance(failed, WrongSignature) else 0
            log = shorten_log(failed.log, LONGEST_LOG)
            return failed.sentence, Failure(log=log, bench=bench, blame=failed.blame)
        text = f"{failed.sentence}\n{failed.log}".strip()
        return shorten_log(text, LONGEST_MESSAGE), UNSET


def shorten_log(text: str, most: int) -> str:
    """Shorten a log to its head and its end."""
    if len(text) <= most:
        return text
    head = int(most * HEAD_SHARE)
    return text[:head] + CUT + text[len(text) - (most - head - len(CUT)) :]
