"""A crowd of cheap simulated workers with the call mix of a real fleet, each with its own schedule.

Workers have no coroutines: one pump takes due workers from a heap, and answers arrive as callbacks.
A worker gives a sign of life every two minutes on its own schedule, reports once in 21 minutes on
average and asks for another task once in nine, both at memoryless random intervals, so that the mix
is the same in the first minute as in the last: that of the burst of 9,423 workers.
"""

import asyncio
import heapq
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import msgspec

from rookery.core.model.task import NOTHING, Results, total
from tests.fleet.connections import Answer
from tests.fleet.figures import ENDPOINTS, Figures
from tests.fleet.ledger import Ledger
from tests.fleet.lines import ANSWER_SECONDS, LOST, Lines
from tests.fleet.worker import CORES, ORIGIN, PAIRS, Job
from tests.makers import counts
from tests.wire.worker.farm import worker_info

BEAT_SECONDS = 120.0
REPORT_SECONDS = 9_400 / 7.4
ENDING = 0.52
"""The share of reports that end their task in this simulation, after which a worker asks for the
next."""
ASK_SECONDS = 1 / (18.1 / 9_423 - ENDING / REPORT_SECONDS)
"""The mean time until a worker asks for a task for another reason; together they give 18.1 task
requests per second of 9,423 workers."""
RETRY_SECONDS = 15.0
PUMP_SECONDS = 0.002
HEAD = (
    "POST /api/{} HTTP/1.1\r\nhost: localhost\r\nuser-agent: python-requests/2.32\r\n"
    "accept: */*\r\nconnection: keep-alive\r\ncontent-type: application/json\r\n"
    "x-forwarded-for: "
)
HEADS = {endpoint: HEAD.format(endpoint).encode() for endpoint in ENDPOINTS}
SAID_ORIGIN = b"," + json.dumps(ORIGIN).encode()[1:-1]
ALIVE = b'"task_alive":true'
_read: Callable[[bytes], Any] = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Mix:
    """The mean seconds between a worker's calls."""

    beat: float = BEAT_SECONDS
    report: float = REPORT_SECONDS
    ask: float = ASK_SECONDS

    def faster(self, times: float) -> "Mix":
        return Mix(self.beat / times, self.report / times, self.ask / times)

    @property
    def calls(self) -> float:
        """The calls per second of one worker."""
        return 1 / self.beat + 1 / self.report + 2 * (1 / self.ask + ENDING / self.report)


def address_of(number: int) -> str:
    """A loopback address for each worker."""
    network, host = divmod(number, 254)
    return f"127.{1 + network // 256}.{network % 256}.{1 + host}"


class CheapWorker:
    """A worker: its task, and when it does what next."""

    __slots__ = (
        "_body",
        "_forwarded",
        "_version",
        "address",
        "asks_at",
        "beats_at",
        "ids",
        "job",
        "reports_at",
        "results",
        "sent",
    )

    def __init__(self, number: int, user: str, password: str) -> None:
        info = worker_info(user, f"{number:08x}", concurrency=CORES, nps=600_000.0)
        caller = {"password": password, "worker_info": {"username": user}}
        self.address = address_of(number)
        self._forwarded = self.address.encode()
        self._body = json.dumps({"password": password, "worker_info": info}).encode()[:-1]
        self._version = json.dumps(caller).encode()
        self.job: Job | None = None
        self.ids = b""
        self.results = NOTHING
        self.sent: Results | None = None
        """A report that has not been acknowledged yet."""
        self.beats_at = self.reports_at = self.asks_at = 0.0

    @property
    def is_playing(self) -> bool:
        return self.job is not None and self.results.games < self.job.games

    def take(self, job: Job) -> None:
        self.job, self.results, self.sent = job, NOTHING, None
        self.ids = b',"run_id":"%b","task_id":%d' % (job.key[0].encode(), job.key[1])

    def request(self, endpoint: str) -> bytes:
        if endpoint == "request_version":
            body = self._version
        elif endpoint == "request_task":
            body = self._body + b"}"
        elif endpoint == "beat":
            body = self._body + self.ids + b"}"
        else:
            body = self._body + self.ids + self._report() + b"}"
        return b"%b%b\r\ncontent-length: %d\r\n\r\n%b" % (
            HEADS[endpoint],
            self._forwarded,
            len(body),
            body,
        )

    def _report(self) -> bytes:
        assert self.job is not None
        stats = b',"stats":' + msgspec.json.encode(self.sent)
        return stats + SAID_ORIGIN if self.job.is_sequential else stats


class Crowd:
    """All workers, with the queue of those that are due."""

    def __init__(self, lines: Lines, ledger: Ledger, figures: Figures, mix: Mix) -> None:
        self.lines = lines
        self.ledger = ledger
        self.figures = figures
        self.mix = mix
        self.at_work = 0
        """The number of workers that have or had a task."""
        self.in_flight = 0
        self._chance = random.Random(1)
        self._due: list[tuple[float, int, CheapWorker, str]] = []
        self._order = count()
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = False
        self._alone = False
        self.samples: dict[tuple[str, int], bytes] = {}
        """One example of each kind of failed answer."""
        self._hearers: dict[str, Callable[[CheapWorker, Answer | None, float], None]] = {
            "request_version": self._hear_version,
            "request_task": self._hear_task,
            "beat": self._hear_beat,
            "update_task": self._hear_update,
        }

    # The queue of due workers.

    def arrive(self, worker: CheapWorker, moment: float) -> None:
        self._push(moment, worker, "request_version")

    def start(self) -> None:
        self._stopping = False
        self._pump()

    async def stop(self) -> None:
        """Makes no more calls; returns when those in progress are answered."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        deadline = time.monotonic() + 2 * ANSWER_SECONDS
        while self.in_flight:  # polls, since an event per call would be too expensive
            assert time.monotonic() < deadline, f"{self.in_flight} calls never ended"
            await asyncio.sleep(0.05)

    def resume(self, workers: Sequence[CheapWorker]) -> None:
        """Lets these workers continue with their tasks, as if nothing had happened."""
        now, self._stopping, self._due = time.monotonic(), False, []
        for worker in workers:
            worker.beats_at = now + self._chance.uniform(0, self.mix.beat)
            self._next(worker)
        self._pump()

    def return_all(self, workers: Sequence[CheapWorker], moments: Iterable[float]) -> None:
        """Lets these workers ask for a task at the given times, whatever they were about to do."""
        now, self._due = time.monotonic(), []
        for worker, moment in zip(workers, moments, strict=True):
            self.arrive(worker, now + moment)
        self.start()

    def multiply_rate(self, times: float) -> None:
        """Multiplies the rate of all calls from now on."""
        now = time.monotonic()
        self.mix = self.mix.faster(times)
        self._due = [
            (now + (moment - now) / times, order, worker, endpoint)
            for moment, order, worker, endpoint in self._due
        ]
        heapq.heapify(self._due)
        for _, _, worker, _ in self._due:
            worker.beats_at = now + (worker.beats_at - now) / times
            worker.reports_at = now + (worker.reports_at - now) / times
            worker.asks_at = now + (worker.asks_at - now) / times

    async def call_only(self, workers: Sequence[CheapWorker], endpoint: str, rate: float) -> float:
        """Lets each of these workers make the same call once, `rate` per second; returns the time
        it took. Only while no worker is active."""
        began, self._due = time.monotonic(), []
        for number, worker in enumerate(workers):
            self._push(began + number / rate, worker, endpoint)
        self._stopping, self._alone = False, True
        self._pump()
        await asyncio.sleep(len(workers) / rate)
        while self._due:  # noqa: ASYNC110 - it lags
            await asyncio.sleep(0.05)
        await self.stop()
        self._alone = False
        return time.monotonic() - began

    def _push(self, moment: float, worker: CheapWorker, endpoint: str) -> None:
        heapq.heappush(self._due, (moment, next(self._order), worker, endpoint))

    def _pump(self) -> None:
        due, monotonic = self._due, time.monotonic
        while due and due[0][0] <= (now := monotonic()):
            moment, _, worker, endpoint = heapq.heappop(due)
            self.figures.note_lag(moment, now)
            self._call(worker, endpoint, now)
        if not self._stopping:
            self._timer = asyncio.get_running_loop().call_later(PUMP_SECONDS, self._pump)

    def _next(self, worker: CheapWorker) -> None:
        """Schedules the worker's earliest next call."""
        if self._stopping or self._alone:
            return
        moment, endpoint = worker.beats_at, "beat"
        if worker.reports_at < moment:
            moment, endpoint = worker.reports_at, "update_task"
        if worker.asks_at < moment:
            moment, endpoint = worker.asks_at, "request_version"
        # A call that is late because of a slow answer does not count as the generator's lag.
        self._push(max(moment, time.monotonic()), worker, endpoint)

    def _later(self, worker: CheapWorker, endpoint: str) -> None:
        """Schedules the call again, as a worker does without an answer."""
        if not self._stopping and not self._alone:
            self._push(time.monotonic() + RETRY_SECONDS, worker, endpoint)

    # Calls and their answers.

    def _call(self, worker: CheapWorker, endpoint: str, now: float) -> None:
        if endpoint == "update_task":
            self._prepare_report(worker)
        self.in_flight += 1
        heard = partial(self._hear, worker, endpoint, now)
        self.lines.call(worker.request(endpoint), heard, worker.address)

    def _hear(
        self, worker: CheapWorker, endpoint: str, sent: float, status: int, body: bytes
    ) -> None:
        now = time.monotonic()
        self.in_flight -= 1
        if status == LOST:
            self.figures.note(endpoint, "lost", now)
        else:
            self.figures.note_answer(endpoint, sent, now)
        if status == 200 and endpoint == "beat" and ALIVE in body:
            worker.beats_at += self.mix.beat
            self._next(worker)
            return
        answer = self._understand(endpoint, status, body, now)
        self._hearers[endpoint](worker, answer, now)

    def _understand(self, endpoint: str, status: int, body: bytes, now: float) -> Answer | None:
        """The parsed answer; None if the worker must try again."""
        if status == LOST:
            return None
        if status != 200:
            self.figures.note(endpoint, "503" if status == 503 else "error", now)
            self.samples[endpoint, status] = body[:200]
            return None
        answer: Answer = _read(body)
        if "error" in answer:
            self.figures.note(endpoint, "error", now)
            self.samples[endpoint, status] = body[:200]
        return answer

    def _hear_version(self, worker: CheapWorker, answer: Answer | None, now: float) -> None:
        if answer is None or "error" in answer:
            self._later(worker, "request_version")
        elif not self._alone and not self._stopping:
            self._call(worker, "request_task", now)

    def _hear_task(self, worker: CheapWorker, answer: Answer | None, now: float) -> None:
        if answer is None or "run" not in answer:
            if answer is not None:
                busy = "busy" in str(answer.get("info", ""))
                self.figures.note("request_task", "busy" if busy else "waiting", now)
            self._later(worker, "request_version")
            return
        if worker.job is None:
            self.at_work += 1
            worker.beats_at = now + self.mix.beat
        job = Job.of(answer)
        self.ledger.give(job.key, job.start, job.games)
        worker.take(job)
        worker.asks_at = now + self._chance.expovariate(1 / self.mix.ask)
        worker.reports_at = now + self._chance.expovariate(1 / self.mix.report)
        self._next(worker)

    def _hear_beat(self, worker: CheapWorker, answer: Answer | None, now: float) -> None:
        """Handles the answer to a beat, except for the usual one that the task is alive."""
        worker.beats_at += self.mix.beat
        if answer is not None:
            self.figures.note("beat", "told dead", now)
            worker.asks_at = now
        self._next(worker)

    def _prepare_report(self, worker: CheapWorker) -> None:
        job = worker.job
        assert job is not None
        if worker.sent is None:
            left = job.games - worker.results.games
            games = min(job.step, left) if job.is_sequential else left
            worker.sent = worker.results + self._played(games)
            self.ledger.send(job.key, worker.sent)

    def _hear_update(self, worker: CheapWorker, answer: Answer | None, now: float) -> None:
        job, sent = worker.job, worker.sent
        assert job is not None
        assert sent is not None
        if answer is None:
            worker.reports_at = now + RETRY_SECONDS
            self._next(worker)
            return
        worker.sent = None
        worker.reports_at = now + self._chance.expovariate(1 / self.mix.report)
        if "error" in answer:
            self.ledger.complain(f"{job.key} was refused {sent}: {answer}")
        elif not answer.get("info"):
            worker.results = sent
            self.ledger.hear(job.key, sent)
        if not answer.get("task_alive"):
            self.ledger.end(job.key, sent)
            worker.asks_at = now
        self._next(worker)

    def _played(self, games: int) -> Results:
        """Random results of equally strong engines."""
        found = Counter(self._chance.choices(range(5), (1, 4, 8, 4, 1), k=games // 2))
        return total(_times(PAIRS[place], number) for place, number in found.items())


def _times(pair: Results, number: int) -> Results:
    ll, ld, even, wd, ww = pair.pentanomial
    return counts(
        wins=number * pair.wins,
        losses=number * pair.losses,
        draws=number * pair.draws,
        pentanomial=(number * ll, number * ld, number * even, number * wd, number * ww),
    )
