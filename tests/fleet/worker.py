"""A simulated worker that plays nothing: it asks for tasks, reports made-up games, gives signs of
life, and misbehaves at random."""

import asyncio
import contextlib
import json
import random
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from rookery.core.model.task import NOTHING, Results
from tests.fleet.connections import Answer, Connections, NoReply
from tests.fleet.ledger import Key, Ledger, Vector
from tests.makers import counts
from tests.wire.worker.farm import GAMES, stats, worker_info

CORES = 8
GAMES_AT_ONCE = 8
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
SLOW_SECONDS = 0.05
CRASHES, CRASHING = 4, 0.02
"""More crashes than a healthy machine has in a task, and the share of reports after which a worker
has them, only on runs that people stop and purge."""
ORIGIN = {"rookery": {"runner": "simulation", "runner_version": "1"}}
"""Provenance that makes the server write a row for every counted report, in order; with these rows
the state of a sequential test can be replayed."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The probability of each fault per report."""

    twice: float = 0.05
    late: float = 0.05
    overtaken: float = 0.05
    cut: float = 0.05
    vanish: float = 0.02
    fail: float = 0.01
    nonsense: float = 0.02
    truncated: float = 0.02
    forged: float = 0.02
    games: float = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """The seconds between reports, and the largest part of a task that is played."""

    seconds: float = 0.02
    reports: int = 12


@dataclass(frozen=True, slots=True)
class Job:
    """The parts of a task that matter to a simulated worker."""

    key: Key
    start: int
    games: int
    step: int
    is_tune: bool
    is_sequential: bool

    @classmethod
    def of(cls, answer: Answer) -> "Job":
        run, mine = answer["run"], answer["run"]["my_task"]
        args, key = run["args"], (run["_id"], answer["task_id"])
        step = 2 * args["sprt"]["batch_size"] if "sprt" in args else GAMES_AT_ONCE
        return cls(key, mine["start"], mine["num_games"], step, "spsa" in args, "sprt" in args)

    @property
    def ids(self) -> Answer:
        return {"run_id": self.key[0], "task_id": self.key[1]}


class Worker:
    """A worker process; `stop` ends it after its present call."""

    def __init__(
        self,
        number: int,
        lines: Connections,
        ledger: Ledger,
        *,
        user: str,
        password: str,
        faults: Faults,
        pace: Pace,
    ) -> None:
        self._lines = lines
        self._ledger = ledger
        self._faults = faults
        self._pace = pace
        self._chance = random.Random(number)
        self._client = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        info = worker_info(user, f"{number:08x}", concurrency=CORES, nps=600_000.0)
        self._base = {"password": password, "worker_info": info}
        self._over = asyncio.Event()

    @property
    def stopping(self) -> bool:
        return self._over.is_set()

    def stop(self) -> None:
        self._over.set()

    async def _pause(self, least: float, most: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._chance.uniform(least, most)):
                await self._over.wait()

    async def work(self) -> None:
        while not self.stopping:
            await self._until_heard("request_version", {})
            answer = await self._until_heard("request_task", {})
            if answer is None or "run" not in answer:
                await self._pause(0.05, 0.3)
                continue
            await self._play(answer)

    async def _play(self, answer: Answer) -> None:
        job = Job.of(answer)
        self._ledger.give(job.key, job.start, job.games)
        results = NOTHING
        for _ in range(self._pace.reports):
            await self._pause(0, 2 * self._pace.seconds)
            if self.stopping or results.games + job.step > job.games:
                break
            further = await self._further(job, results)
            if further is None:
                return
            results = further
        if self._by_chance(self._faults.games):
            await self._until_heard("upload_pgn", {**job.ids, "pgn": GAMES, "message": ""})
        if not self.stopping and results.games < job.games:
            await self._until_heard("failed_task", {**job.ids, "message": "enough"})

    async def _further(self, job: "Job", before: Results) -> Results | None:
        """The results after one more report, or two at once; None if the task is over then."""
        ids, key = job.ids, job.key
        results = self._more(before, job.step)
        if key[0] in self._ledger.purged and self._by_chance(CRASHING):
            results = replace(results, crashes=results.crashes + CRASHES)
        if job.is_tune:
            batch = await self._drawn(ids, key, before, results)
            goes_on = batch is not None and await self._report(ids, key, before, results, batch)
            return results if goes_on else None
        more, slow = ORIGIN if job.is_sequential else {}, list[asyncio.Task[None]]()
        if results.games + job.step <= job.games and self._by_chance(self._faults.overtaken):
            slow = [self._overtaken(ids, key, results, more)]
            results = self._more(results, job.step)
        goes_on = await self._report(ids, key, before, results, more)
        await asyncio.gather(*slow)
        return results if goes_on else None

    async def _report(
        self, ids: Answer, key: Key, before: Results, results: Results, more: Answer
    ) -> bool:
        """Sends a report; returns whether the task continues."""
        faults, body = self._faults, {**ids, "stats": stats(results), **more}
        await self._misbehave(ids, key, results)
        self._ledger.send(key, results)
        if self._by_chance(faults.cut):
            await self._lines.cut("/api/update_task", self._body(body), self._client)
        answer = await self._until_heard("update_task", body)
        if answer is None:
            return False
        if "error" in answer:
            self._ledger.complain(f"{key} was refused {results}: {answer}")
        elif not answer.get("info"):
            self._ledger.hear(key, results)
        if not answer.get("task_alive"):
            self._ledger.end(key, results)
        if self._by_chance(faults.twice):
            await self._until_heard("update_task", body)
        if before.games and self._by_chance(faults.late):
            await self._until_heard("update_task", {**ids, "stats": stats(before)})
        if self._by_chance(faults.vanish):
            await self._pause(0, 1)
            return False
        if self._by_chance(faults.fail):
            await self._until_heard("failed_task", {**ids, "message": "by chance"})
            return False
        await self._until_heard("beat", ids)
        return bool(answer.get("task_alive"))

    def _overtaken(
        self, ids: Answer, key: Key, results: Results, more: Answer
    ) -> "asyncio.Task[None]":
        """A delayed report, which the next one may overtake."""
        self._ledger.send(key, results)

        async def arrive() -> None:
            await self._pause(0, SLOW_SECONDS)
            body = self._body({**ids, "stats": stats(results), **more})
            answer = await self._try("update_task", body)
            if answer is not None and "error" in answer:
                self._ledger.complain(f"{key} was refused a late report: {answer}")

        return asyncio.create_task(arrive())

    async def _misbehave(self, ids: Answer, key: Key, results: Results) -> None:
        """Makes calls that must change nothing."""
        if self._by_chance(self._faults.nonsense):
            await self._try("update_task", b'{"password": 7, "worker_info": []}')
        if self._by_chance(self._faults.truncated):
            whole = self._body({**ids, "stats": stats(results)})
            await self._try("update_task", whole[: self._chance.randrange(len(whole))])
        if self._by_chance(self._faults.forged):
            await self._forge(key)

    async def _forge(self, own: Key) -> None:
        key = self._chance.choice(list(self._ledger.entries))
        if key == own:
            return
        lie = stats(counts(wins=800, pentanomial=(0, 0, 0, 0, 400)))
        body = self._body({"run_id": key[0], "task_id": key[1], "stats": lie})
        answer = await self._try("update_task", body)
        self._ledger.forged += 1
        if answer is not None and answer.get("task_alive"):
            self._ledger.complain(f"a stranger reported for {key}: {answer}")

    async def _drawn(self, ids: Answer, key: Key, before: Results, after: Results) -> Answer | None:
        """Requests the values of a tune, and prepares the report of that batch."""
        answer = await self._until_heard("request_spsa", ids)
        if answer is None or not answer["task_alive"]:
            return None
        batch = after - before
        won = batch.wins - batch.losses
        moved: Vector = tuple(each["R"] * each["c"] * each["flip"] for each in answer["w_params"])
        self._ledger.entries[key].steps[after.games] = tuple(won * each for each in moved)
        spsa = {
            "num_games": batch.games,
            "wins": batch.wins,
            "losses": batch.losses,
            "draws": batch.draws,
            "sig": answer["sig"],
        }
        return {"spsa": spsa}

    async def _until_heard(self, call: str, more: dict[str, Any]) -> Answer | None:
        """Repeats a call until it is answered, as workers do; None if the worker is told to
        stop."""
        pause = FIRST_PAUSE
        while True:
            try:
                return await self._lines.post(f"/api/{call}", self._body(more), self._client)
            except NoReply:
                if self.stopping:
                    return None
            await self._pause(0, pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _try(self, call: str, body: bytes) -> Answer | None:
        try:
            return await self._lines.post(f"/api/{call}", body, self._client)
        except NoReply:
            return None

    def _body(self, more: dict[str, Any]) -> bytes:
        return json.dumps(self._base | more).encode()

    def _by_chance(self, share: float) -> bool:
        return self._chance.random() < share

    def _more(self, results: Results, games: int) -> Results:
        for _ in range(games // 2):
            place = self._chance.choices(range(5), (1, 4, 8, 4, 1))[0]
            results = results + PAIRS[place]
        return results


PAIRS = (
    counts(losses=2, pentanomial=(1, 0, 0, 0, 0)),
    counts(losses=1, draws=1, pentanomial=(0, 1, 0, 0, 0)),
    counts(draws=2, pentanomial=(0, 0, 1, 0, 0)),
    counts(wins=1, draws=1, pentanomial=(0, 0, 0, 1, 0)),
    counts(wins=2, pentanomial=(0, 0, 0, 0, 1)),
)
