"""Questions to a server that was primary, was suspended or cut off, and comes back: no answer may
be older than the rows were before the question.

Some questions are in its sockets before it resumes, so that it reads them first; more follow while
it finds out that it is no longer primary. It may refuse with a 503, or forward to the primary.
"""

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import httpx

from rookery.core.model.task import NOTHING
from tests.fleet.connections import Answer
from tests.fleet.ledger import Key, Ledger
from tests.wire.worker.farm import stats

WATCH_COMMITS = """
CREATE TABLE proof_commits (
    id bigint GENERATED ALWAYS AS IDENTITY, sequence bigint, epoch bigint, writer text
);
CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.proof_commits (sequence, epoch, writer)
    SELECT NEW.sequence, epoch, current_setting('application_name') FROM public.fence;
    RETURN NULL;
END $$;
CREATE TRIGGER note_commit AFTER UPDATE ON commits FOR EACH ROW EXECUTE FUNCTION note_commit();
"""
COMMITS = """
WITH told AS (
    SELECT epoch, writer, epoch < lag(epoch) OVER (ORDER BY id) AS late,
        sequence <= lag(sequence) OVER (ORDER BY id) AS back
    FROM proof_commits
)
SELECT count(*) AS commits, count(DISTINCT epoch) AS terms,
    count(*) FILTER (WHERE late OR back) AS late,
    (SELECT count(*) FROM (SELECT FROM told GROUP BY epoch HAVING count(DISTINCT writer) > 1) AS t)
        AS shared
FROM told
"""
GAMES = "SELECT wins + losses + draws FROM runs WHERE id = $1"
IS_ACTIVE = "SELECT active FROM present_tasks WHERE run = $1 AND id = $2"
SHOWN_GAMES = re.compile(r'<dd id="games">([\d,]+)')
BEFORE, AT_ONCE = 24, 6
"""The number of questions that are sent before the server resumes, and of simultaneous ones
later."""
LATER_SECONDS = 1.0
ANSWER_SECONDS = 60.0
READS = ("v1", "page", "document")
CALLS = ("beat", "update_task")


@dataclass(frozen=True, slots=True)
class WrittenCommits:
    """All group commits since a trigger notes which server wrote in which term."""

    commits: int
    terms: int
    late: int
    """The number of commits that were written after the end of their term."""
    shared: int
    """The number of terms in which more than one server wrote."""


async def watch_commits(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    await connection.execute(WATCH_COMMITS)


async def read_commits(connection: "asyncpg.Connection[asyncpg.Record]") -> WrittenCommits:
    row = await connection.fetchrow(COMMITS)
    assert row is not None
    return WrittenCommits(*row)


@dataclass(slots=True)
class HeldTask:
    """A task from its worker's view."""

    key: Key
    said: Mapping[str, Any]
    client: str
    games: int
    may_be_over: bool = False
    """Whether a call was sent that ends it."""
    is_over: bool = False
    """Whether a server has acknowledged its end."""


class HeldTasks:
    """All tasks that workers got, and whether they continue; receives all calls."""

    def __init__(self) -> None:
        self.tasks: dict[Key, HeldTask] = {}
        self._of_client: dict[str, HeldTask] = {}

    def note_sent(self, path: str, body: bytes, client: str) -> None:
        if path == "/api/request_task" and client in self._of_client:
            self._of_client[client].may_be_over = True
        elif path == "/api/failed_task" and (task := self._find(body)):
            task.may_be_over = True
        elif path == "/api/update_task" and (task := self._find(body)):
            told = json.loads(body)["stats"]
            task.may_be_over |= told["wins"] + told["losses"] + told["draws"] >= task.games

    def note_answer(self, path: str, body: bytes, client: str, answer: Answer) -> None:
        if path == "/api/request_task" and "run" in answer:
            key = answer["run"]["_id"], answer["task_id"]
            games = answer["run"]["my_task"]["num_games"]
            self.tasks[key] = HeldTask(key, json.loads(body), client, games)
            self._of_client[client] = self.tasks[key]
        elif path in ("/api/failed_task", "/api/update_task") and "error" not in answer:
            task = self._find(body)
            if task is not None and task.client == client and not answer.get("task_alive"):
                task.may_be_over = task.is_over = True

    def _find(self, body: bytes) -> HeldTask | None:
        try:
            said = json.loads(body)
            return self.tasks.get((said["run_id"], said["task_id"]))
        except (ValueError, KeyError, TypeError):
            return None  # from a misbehaving worker


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what was known before it."""

    kind: str
    path: str
    content: Mapping[str, Any] | None = None
    least_games: int = 0
    task: HeldTask | None = None
    was_over: bool = False


@dataclass(slots=True)
class WokenQuestions:
    """Asks questions, and counts the answers."""

    ledger: Ledger
    tasks: HeldTasks
    looking: "asyncpg.Connection[asyncpg.Record]"
    """A database connection for these questions only."""
    runs: tuple[str, ...]
    """Runs whose number of games never decreases."""
    chance: random.Random
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Counts by the kind of question and its outcome."""
    stale: list[str] = field(default_factory=list)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def put_to(self, address: str) -> AsyncIterator[None]:
        limits = httpx.Limits(max_connections=2 * BEFORE)
        async with httpx.AsyncClient(
            base_url=address, timeout=ANSWER_SECONDS, limits=limits
        ) as client:
            first = [await self._choose(READS + CALLS) for _ in range(BEFORE)]
            asked = [asyncio.create_task(self._ask(client, each)) for each in first]
            await asyncio.sleep(0.1)  # until they are in its sockets
            yield
            until = time.monotonic() + LATER_SECONDS
            await asyncio.gather(*(self._go_on(client, until) for _ in range(AT_ONCE)), *asked)

    async def _go_on(self, client: httpx.AsyncClient, until: float) -> None:
        while time.monotonic() < until:
            await self._ask(client, await self._choose(READS + CALLS))

    async def _choose(self, kinds: tuple[str, ...]) -> Question:
        kind = self.chance.choice(kinds)
        if kind in CALLS:
            return self._about_task(kind)
        run = self.chance.choice(self.runs)
        async with self._turn:
            games = await self.looking.fetchval(GAMES, run)
        paths = {
            "v1": f"/api/v1/runs/{run}",
            "page": f"/runs/{run}",
            "document": f"/api/get_run/{run}",
        }
        return Question(kind, paths[kind], least_games=games)

    def _about_task(self, kind: str) -> Question:
        """A question about one of the newest tasks, of which a suspended server knows little; some
        are over."""
        newest = list(self.tasks.tasks.values())[-120:]
        task = self.chance.choice(newest)
        content = dict(task.said) | {"run_id": task.key[0], "task_id": task.key[1]}
        if kind == "update_task":
            # Repeat results that were acknowledged before, as a worker on a slow line would.
            entry = self.ledger.entries.get(task.key)
            content["stats"] = stats(entry.acknowledged if entry else NOTHING)
        return Question(kind, f"/api/{kind}", content, task=task, was_over=task.is_over)

    async def _ask(self, client: httpx.AsyncClient, question: Question) -> None:
        try:
            if question.content is None:
                answer = await client.get(question.path)
            else:
                assert question.task is not None
                head = {"x-forwarded-for": question.task.client}
                answer = await client.post(question.path, json=question.content, headers=head)
        except httpx.HTTPError:
            self.counts[question.kind, "no answer"] += 1
            return
        if answer.status_code == 503:
            self.counts[question.kind, "refused"] += 1
            if "json" in answer.headers.get("content-type", "") and question.task:
                self.stale.append(f"a worker was refused in JSON: {answer.text[:200]}")
            return
        said = "answered"
        if wrong := await self.judge(question, answer):
            said = "stale"
            self.stale.append(f"{question.kind} {question.path}: {wrong}")
        self.counts[question.kind, said] += 1

    async def judge(self, question: Question, answer: httpx.Response) -> str:
        """What is outdated or otherwise wrong about an answer; empty if nothing."""
        if answer.status_code != 200:
            return f"{answer.status_code} {answer.text[:200]}"
        if question.task is not None:
            return await self._judge_task(question, question.task, answer.json())
        games = _games_in(question.kind, answer.text)
        return f"{games} games after {question.least_games}" if games < question.least_games else ""

    async def _judge_task(self, question: Question, task: HeldTask, answer: Answer) -> str:
        alive = answer.get("task_alive")
        if alive is None:
            return str(answer)
        if question.was_over:
            return "alive, though its end was acknowledged" if alive else ""
        if alive or task.may_be_over:
            return ""
        async with self._turn:
            active = await self.looking.fetchval(IS_ACTIVE, *task.key)
        return "dead, though its row says that it is active" if active else ""

    @property
    def asked(self) -> int:
        return self.counts.total()

    def total(self, said: str) -> int:
        return sum(count for (_, what), count in self.counts.items() if what == said)


def _games_in(kind: str, text: str) -> int:
    if kind == "page":
        found = SHOWN_GAMES.search(text)
        return int(found[1].replace(",", "")) if found else -1
    shown = json.loads(text)["results"]
    return int(shown["wins"] + shown["losses"] + shown["draws"])
