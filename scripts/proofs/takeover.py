"""Strikes the primary of two and of three servers under load: another takes over, nothing is lost.

    scripts/prove takeover [--times N] [--workers N] [--waiting N] [--seed N] [--servers N]

The primary is killed, stopped and woken, cut off from the database for a while, and asked to step
down, each so many times in an order by chance, first with two servers and then with three. Workers
of every fault call all servers; machines for which there is no work are kept waiting by them at
each moment; people submit, approve, stop and purge tests through any of them, also tests that are
being played and have tasks to strike out. A step-down may leave no call and no command refused or
unanswered: what fails in the seconds after one is taken for its own. A server that was stopped or
cut off is asked at once as it comes back, and each answer is compared with the rows from before the
question. Who wrote each commit, and in which term, is noted by a trigger. After every strike, while
all go on, the rows are held against the ledger of what was acknowledged; four times in the course
of it, with everybody at rest, also what each server shows, and the log of actions against what
people were told.
"""

import asyncio
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from rookery.server.http.forwarding import PATIENCE_SECONDS
from scripts.progress import Progress
from scripts.proof import option, read_options, run_timed, tell_findings
from tests.database import running
from tests.faults.played_runs import PlayedRuns
from tests.faults.several_servers import SeveralServers, Strike, several_servers
from tests.faults.waiting_machines import WaitingMachines
from tests.faults.woken import HeldTasks, WokenQuestions, read_commits, watch_commits
from tests.fleet.moments import Acknowledged, Sent, find_wrong, read_rows

RUNS = 6
PARTS = 4
MOST_SECONDS = 5.0
EVENTS = 25
SETTLE_SECONDS = PATIENCE_SECONDS + 1
"""The time within which every lost call has ended: it waits this long for a primary."""
HEAD = (
    "| servers | the primary was | times | no answer for, least / median / most, s"
    " | calls without an answer | commands sent again |\n|" + "---|" * 6
)


@dataclass(frozen=True, slots=True)
class Wanted:
    times: int = option(20, "strikes of each kind")
    workers: int = 60
    waiting: int = option(12, "machines that are kept waiting for work")
    seed: int = 1
    servers: tuple[int, ...] = (2, 3)


@dataclass(slots=True)
class Outcomes:
    """The outcomes of one kind of strike."""

    seconds: list[float] = field(default_factory=list)
    unanswered: int = 0
    """The number of workers' calls without an answer."""
    refused: int = 0
    """The number of people's commands that had to be repeated."""


@dataclass(slots=True)
class Scene:
    """The servers, with the fleet, people and observers."""

    farm: SeveralServers
    questions: WokenQuestions
    played: PlayedRuns
    waiting: WaitingMachines
    looking: "asyncpg.Connection[asyncpg.Record]"
    outcomes: dict[Strike, Outcomes] = field(default_factory=lambda: defaultdict(Outcomes))
    compared: int = 0
    """The number of strikes after which the rows were compared with the ledger."""
    is_settled: bool = True
    """Whether failures from now on are not due to an earlier strike."""

    async def strike(self, what: Strike) -> float:
        planned = what is Strike.STEPPED_DOWN
        if planned and not self.is_settled:
            await asyncio.sleep(SETTLE_SECONDS)
        farm, outcome = self.farm, self.outcomes[what]
        calls, commands = farm.lines.refused, farm.refused + farm.repeated
        seconds = await farm.strike(what, self.questions)
        if planned:
            await asyncio.sleep(SETTLE_SECONDS)
        self.is_settled = planned
        outcome.seconds.append(seconds)
        outcome.unanswered += farm.lines.refused - calls
        outcome.refused += farm.refused + farm.repeated - commands
        if seconds > MOST_SECONDS:
            tell_events(self.farm)
        return seconds

    async def compare(self) -> list[str]:
        """Compares the rows with the ledger while all are active; returns the errors."""
        ledger = self.farm.fleet.ledger
        before = Acknowledged.of(ledger)
        rows = await read_rows(self.looking)
        self.compared += 1
        return find_wrong(rows, before, Sent.of(ledger), ledger)

    async def find_wrong_at_rest(self) -> list[str]:
        """Audits everything while nobody is active; returns the errors."""
        return [*(await self.farm.audit()).wrong, *await self.farm.people.find_wrong()]


async def strike_all(scene: Scene, strikes: Sequence[Strike], told: Progress) -> list[str]:
    """Makes all strikes; returns the errors found after one of them."""
    for what in strikes:
        seconds = await scene.strike(what)
        done = sum(len(each.seconds) for each in scene.outcomes.values())
        told.tell(done, f"{what.value}, {seconds:.1f} s without an answer")
        if wrong := await scene.compare():
            return wrong
    return []


def tell_events(farm: SeveralServers) -> None:
    """Prints the last log lines of the servers, if a takeover took too long."""
    for member in farm.members:
        for event in member.process.events()[-EVENTS:]:
            print(member.port, event, file=sys.stderr)


async def prove_for(count: int, wanted: Wanted, folder: Path) -> bool:
    """Runs the proof with `count` servers; returns whether it holds."""
    strikes = [what for what in Strike for _ in range(wanted.times)]
    random.Random(wanted.seed).shuffle(strikes)
    size = max(1, -(-len(strikes) // PARTS))
    told = Progress(len(strikes), "strikes")
    with running(folder / "postgres") as target:
        async with (
            several_servers(target, folder, count, runs=RUNS, seed=wanted.seed) as farm,
            AsyncExitStack() as stack,
        ):
            scene = await set_scene(farm, stack, wanted)
            for first in range(0, len(strikes), size):
                others = scene.played.command, scene.waiting.wait
                async with farm.at_work(wanted.workers, *others):
                    wrong = await strike_all(scene, strikes[first : first + size], told)
                if wrong := wrong or await scene.find_wrong_at_rest():
                    tell_findings(wrong)
                    return False
            report(count, scene)
            return await report_books(scene)


async def set_scene(farm: SeveralServers, stack: AsyncExitStack, wanted: Wanted) -> Scene:
    connections = []
    for _ in range(3):
        connections.append(await asyncpg.connect(**farm.target.connect_args))
        stack.push_async_callback(connections[-1].close)
    await watch_commits(connections[0])
    tasks, ledger = HeldTasks(), farm.fleet.ledger
    farm.lines.hearers.append(tasks)
    chance = random.Random(f"{wanted.seed} questions")
    questions = WokenQuestions(ledger, tasks, connections[1], tuple(farm.fleet.runs), chance)
    waiting = WaitingMachines(farm, wanted.waiting)
    return Scene(farm, questions, PlayedRuns(farm, connections[2]), waiting, connections[0])


def report(count: int, scene: Scene) -> None:
    for what, each in sorted(scene.outcomes.items(), key=lambda item: item[0].value):
        spread = (min(each.seconds), statistics.median(each.seconds), max(each.seconds))
        shown = " / ".join(f"{seconds:.1f}" for seconds in spread)
        print(
            f"| {count} | {what.value} | {len(each.seconds)} | {shown} | {each.unanswered:,}"
            f" | {each.refused:,} |"
        )
    spans = [
        f"{what.value} {min(each.seconds):.1f} to {max(each.seconds):.1f} s"
        for what, each in sorted(scene.outcomes.items(), key=lambda item: item[0].value)
    ]
    print(f"\nverdict: {count} servers: {', '.join(spans)}")


async def report_books(scene: Scene) -> bool:
    """Prints the final report; returns whether everything is as it should be."""
    farm, played, questions = scene.farm, scene.played, scene.questions
    audit, ledger, sent = await farm.audit(), farm.fleet.ledger, farm.people.sent
    done, commits = sum(each.is_done for each in sent), await read_commits(scene.looking)
    print(
        f"\n{farm.lines.calls:,} calls, {farm.lines.refused:,} without an answer."
        f" {ledger.acknowledged_games():,} games acknowledged; {audit.games:,} in the rows, without"
        " those of tasks that a purge struck out, each where the ledger has it or one"
        f" unanswered report further; {audit.tasks:,} tasks, none given twice; {ledger.forged:,}"
        f" forged reports, none accepted. Rows and ledger compared after {scene.compared}"
        f" strikes. {scene.waiting.told:,} times a machine without work had waited for its time.\n"
        f"\n{len(sent):,} commands of people, {done:,} of them done, each once (the others were"
        f" refused for a reason); {farm.repeated:,} were sent again since their server died under"
        f" them, {farm.refused:,} since it said so. {played.purged:,} tests were purged that had"
        f" been at play: {played.tasks:,} tasks with {played.games:,} games struck out.\n"
        f"\nServers that woke or came back were asked {questions.asked:,} times in their first"
        f" moments ({describe_kinds(questions)}): {questions.total('answered'):,} answered,"
        f" {questions.total('refused'):,} refused with a 503, {questions.total('no answer'):,} not"
        f" answered; {len(questions.stale)} stale. {commits.commits:,} commits in {commits.terms:,}"
        f" terms: {commits.late} of a term that was over, {commits.shared} terms with more than one"
        " writer.\n"
    )
    tell_findings(questions.stale)
    slow = [what for what, each in scene.outcomes.items() if max(each.seconds) >= MOST_SECONDS]
    written = commits.commits and not commits.late and not commits.shared
    struck = bool(played.tasks)
    planned = scene.outcomes[Strike.STEPPED_DOWN]
    unbroken = not planned.unanswered and not planned.refused
    waited = scene.waiting.told > 0 and not scene.waiting.wrong
    good = not slow and not questions.stale and bool(written) and struck
    return good and unbroken and waited


def describe_kinds(questions: WokenQuestions) -> str:
    kinds = sorted({kind for kind, _ in questions.counts})
    names = {"v1": "runs by v1", "page": "pages of runs", "document": "runs by get_run"}
    return ", ".join(
        f"{sum(n for (each, _), n in questions.counts.items() if each == kind):,}"
        f" {names.get(kind, kind)}"
        for kind in kinds
    )


async def prove(wanted: Wanted, folder: Path) -> int:
    print(HEAD)
    good = True
    for count in wanted.servers:
        place = folder / str(count)
        place.mkdir()
        good = await prove_for(count, wanted, place) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
