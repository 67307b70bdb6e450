"""Invents a farm's history: people, machines and runs that look like months of testing.

Used for pictures of pages, trials and benchmarks. Results are drawn for an assumed Elo difference
and tests are judged by the real rules, so that charts, verdicts and tasks agree. The same seed
gives the same history.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from random import Random
from statistics import fmean

from msgspec.structs import replace as with_fields

from rookery.core.model.engine import BUILT_IN, Catalogue, catalogue_of
from rookery.core.model.events import Action, Event, about_run, about_worker
from rookery.core.model.kinds import Fixed, Kind, Report, SprtTest, SpsaTuning
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Plan, Side
from rookery.core.model.run import Run, Status, create
from rookery.core.model.task import NOTHING, PlayedBatch, Results, Tally, Task
from rookery.core.stats.sprt import Sprt
from rookery.core.stats.spsa import TuneBatch, new_tune, perturb
from rookery.demo.invented_play import draw_many_pairs
from rookery.demo.seeding_notes import invent_failure, invent_repeated_failures
from rookery.demo.seeding_pace import PlayedPace, draw_pace
from rookery.demo.seeding_people import (
    APPROVERS,
    BLOCK_REASONS,
    BLOCKED_USERS,
    NAMES,
    REFERENCE_NPS,
    invent_engines,
    invent_machine,
)
from rookery.server.farm.rules import purge
from rookery.server.farm.rules.answers import Changes, ChartPoint, MachineBlock
from rookery.server.farm.rules.observations import chart_point

ENGINES = ("Stockfish", "Stockfish", "Stockfish", "Kestrel", "Merlin")
TIME_CONTROLS = (
    ("10+0.1", 1, (0.0, 2.0), 5),
    ("60+0.6", 1, (0.5, 2.5), 3),
    ("10+0.1", 1, (-1.75, 0.25), 3),
    ("5+0.05", 8, (0.0, 2.0), 1),
    ("20+0.2", 8, (0.5, 2.5), 1),
    ("180+1.8", 1, (-1.75, 0.25), 1),
)
PARAMETERS = """\
lmrBase,980,500,1500,50,0.002
lmrScale,2140,1200,3000,80,0.002
razorMargin,512,200,900,40,0.002
nullDivisor,203,100,350,15,0.002
histBonus,1610,800,2600,90,0.002"""
TASKS_PER_RUN = 40
STOPS = ("no hope", "found a bug", "superseded by another test", "")
MOST_BLOCKED = 6


@lru_cache(maxsize=1)
def read_ideas() -> tuple[tuple[str, str], ...]:
    """Return the names of branches and their commit messages, read from a file."""
    lines = (Path(__file__).parent / "seeding_ideas.txt").read_text().splitlines()
    parts = (line.partition(" | ") for line in lines if not line.startswith("#"))
    return tuple((tag, message) for tag, _, message in parts)


@dataclass(frozen=True, slots=True)
class SeedSize:
    """The number of unfinished runs, of machines that play, and of finished runs."""

    runs: int = 200
    machines: int = 10_000
    history: int = 1000


@dataclass(slots=True)
class FarmSeed:
    """Draws one history, oldest run first. A test that passes becomes the base of later ones."""

    chance: Random
    now: datetime
    size: SeedSize
    catalogue: Catalogue = field(
        default_factory=lambda: catalogue_of([*BUILT_IN, *invent_engines()])
    )
    branches: dict[str, list[Side]] = field(default_factory=dict)
    """The main branch of each engine, with the tests that passed so far."""
    _machines: list[Machine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._machines = [invent_machine(self.chance, each) for each in range(self.size.machines)]
        self.branches = {
            engine: [self._invent_side(engine, "master", "The first commit that is tested here.")]
            for engine in sorted(set(ENGINES))
        }

    def invent_runs(self) -> Iterator[Changes]:
        """Yield the finished runs, oldest first, then the unfinished ones."""
        for left in range(self.size.history, 0, -1):
            begun = self.now - timedelta(hours=6 + 4.1 * left + self.chance.uniform(0, 3))
            yield self._finish_run(self.invent_run(begun))
        players = self._share_machines()
        ages = sorted((self.chance.uniform(0.2, 30) for _ in players), reverse=True)
        for number, (machines, age) in enumerate(zip(players, ages, strict=True)):
            run = self.invent_run(self.now - timedelta(hours=age))
            if number % 12 == 0:
                yield Changes(runs=(run,), events=(self._announce(run),))
            else:
                yield self._play_run(run, machines)

    def invent_blocks(self) -> Changes:
        """Block some machines, each for a reason."""
        blocks, events = list[MachineBlock](), list[Event]()
        for number, machine in enumerate(self._machines[: self._blocked]):
            name, why = machine.short_name, BLOCK_REASONS[number % len(BLOCK_REASONS)]
            at = self.now - timedelta(hours=5 + 31 * number)
            blocks.append(MachineBlock(name, why, at, min(APPROVERS)))
            events.append(about_worker(Action.BLOCK_WORKER, name, min(APPROVERS), at, "blocked"))
        return Changes(blocks=tuple(blocks), events=tuple(events))

    @property
    def players(self) -> Sequence[Machine]:
        """The machines that are not blocked, of users who are not blocked."""
        return [one for one in self._machines[self._blocked :] if one.user not in BLOCKED_USERS]

    @property
    def _blocked(self) -> int:
        """How many machines, from the first on, are blocked."""
        return min(MOST_BLOCKED, len(self._machines) // 3)

    def _share_machines(self) -> list[list[Machine]]:
        """Distribute the machines over the unfinished runs; a few runs get most of them."""
        shares: list[list[Machine]] = [[] for _ in range(self.size.runs)]
        busy = [each for each in range(self.size.runs) if each % 12 and each % 7]
        for machine in self.players if busy else ():
            place = min(int(self.chance.expovariate(4) * len(busy)), len(busy) - 1)
            shares[busy[place]].append(machine)
        return shares

    def _invent_side(self, engine: str, tag: str, message: str) -> Side:
        bench = str(self.chance.randint(1_000_000, 1_900_000))
        return Side(
            tag,
            f"{self.chance.getrandbits(160):040x}",
            message=f"{message}\n\nBench: {bench}",
            signature=bench,
            engine=engine,
            repository=self.catalogue.record(engine).source,
        )

    def _invent_sides(self, kind: Kind) -> tuple[Side, Side]:
        """Usually an idea against the head of its engine's main branch, sometimes the head against
        an older commit, which measures everything accepted in between."""
        engine = self.chance.choice(ENGINES)
        branch = self.branches[engine]
        head = with_fields(branch[-1], tag="master")
        if kind.compares and kind.hypotheses is None and len(branch) > 1:
            return head, with_fields(self.chance.choice(branch[-9:-1]), tag="release")
        tag, message = self.chance.choice(read_ideas())
        tag = tag if self.chance.random() < 0.6 else f"{tag}{self.chance.randint(2, 9)}"
        return self._invent_side(engine, tag, message), head

    def invent_run(self, begun: datetime) -> Run:
        """Return a run submitted at `begun` and not yet approved."""
        tc, threads, bounds, _ = self.chance.choices(
            TIME_CONTROLS, [each[3] for each in TIME_CONTROLS]
        )[0]
        kind, games = self._invent_kind(bounds)
        sides = self._invent_sides(kind)
        plan = Plan(
            sides=sides,
            games=games,
            tc=tc,
            threads=threads,
            owner=self.chance.choice(NAMES[:20]),
            book="UHO_Lichess_4852_v1.epd",
            # A run of high priority would take all machines from the others within an hour.
            priority=self.chance.choice((0, 0, 0, 0, -1, 0)),
            info=self.chance.choice(
                ("", f"Second try of {sides[0].tag}.", "Rebased, with tuned values.")
            ),
        )
        run_id = f"{int(begun.timestamp()):08x}{self.chance.getrandbits(64):016x}"
        return create(run_id, plan, kind, self.catalogue, begun, median_nps=REFERENCE_NPS)

    def _invent_kind(self, bounds: tuple[float, float]) -> tuple[Kind, int]:
        """Return a kind of test, and a number of games for it."""
        draw = self.chance.random()
        if draw < 0.05:
            return SpsaTuning(new_tune(PARAMETERS, 200_000)), 200_000
        if draw < 0.12:
            return Fixed(), 60_000
        return SprtTest(Sprt(*bounds, batch_size=4)), 800_000

    def _finish_run(self, run: Run) -> Changes:
        """Play a run to its end. Some are stopped early by their owner, and results of machines
        that crashed are purged from some."""
        most = self.chance.choices((TASKS_PER_RUN * 3, TASKS_PER_RUN), (9, 1))[0]
        players = self.chance.sample(self._machines, min(len(self._machines), 60))
        changes = self._play_tasks(run, players, draw_pace(self.chance, run, most, self.now), most)
        played = changes.runs[0]
        flag = played.kind.outcome(played.tally.results).flag
        status = replace(played.status, finished=True, flag=flag)
        tally = replace(played.tally, workers=0, cores=0, committed=played.tally.results.games)
        ended = replace(played, status=status, tally=tally)
        told = self._tell_end(ended, stopped=not played.decided)
        over = _changed(changes, ended, tuple(task.closed() for task in changes.tasks), told)
        over = self._purge(over)
        self._merge(over.runs[0])
        return over

    def _tell_end(self, run: Run, *, stopped: bool) -> Event:
        action = Action.STOP_RUN if stopped else Action.FINISHED_RUN
        words = self.chance.choice(STOPS) if stopped else ""
        return about_run(action, run, run.plan.owner, run.updated, words)

    def _purge(self, over: Changes) -> Changes:
        """Purge tasks with too many crashes, if there are any."""
        run, bad = over.runs[0], [task for task in over.tasks if task.results.excessive()]
        if not bad or not run.kind.may_purge:
            return over
        search, actor = purge.PurgeSearch(), run.status.approver
        search.look(bad)
        purging = purge.Purging(run.id, actor, False, search.verdict(run, purge.MANUAL))
        struck = purge.strike(run, purging, over.tasks)
        at = min(run.updated + timedelta(hours=2), self.now)
        purged = purge.conclude(struck.run, struck.purging, at)
        left = {each.task.id: each.struck for each in struck.bad}
        tasks = tuple(left.get(task.id, task) for task in over.tasks)
        return with_fields(_changed(over, purged.run, tasks, *purged.events), bad=struck.bad)

    def _merge(self, run: Run) -> None:
        """Make a test that passed the new head of its engine's main branch."""
        if run.kind.hypotheses is not None and run.kind.outcome(run.tally.results).is_pass:
            side = run.plan.new
            self.branches[side.engine].append(side)

    def _play_run(self, run: Run, machines: Sequence[Machine]) -> Changes:
        """Return a run that is playing now: some tasks are over, and each machine with enough cores
        has an active one."""
        able = [each for each in machines if each.cores >= run.plan.threads]
        changes = self._play_until_now(run, able)
        played, over = changes.runs[0], tuple(task.closed() for task in changes.tasks)
        tally = replace(played.tally, workers=0, cores=0, committed=played.tally.results.games)
        most = max(2, tally.results.pairs // (4 * max(1, len(able))))
        idle = tally
        active: list[Task] = []
        for machine in able:
            task = self._open_task(played, tally, machine)
            results = draw_many_pairs(
                self.chance, 0.3, self.chance.randrange(min(most, task.games // 2))
            )
            idle, tally = idle.opened(task), tally.opened(task).reported(NOTHING, results)
            active.append(replace(task, results=results))
        kind = self._judge(played.kind, tally.results, tally.results - idle.results)
        if kind.is_decided(tally.results, run.plan.games):
            # Leave out results that would have ended the test.
            kind, tally = played.kind, idle
            active = [replace(task, results=NOTHING) for task in active]
        playing = replace(played, kind=kind, tally=tally, updated=self.now)
        return _changed(changes, playing, (*over, *active))

    def _play_until_now(self, run: Run, machines: Sequence[Machine]) -> Changes:
        """Return the tasks that are over: played at the pace of the present machines, and without a
        verdict."""
        past = self.chance.sample(self._machines, min(len(self._machines), 30))
        most = self.chance.randint(4, 26)
        pace = draw_pace(self.chance, run, most, self.now, machines)
        most = max(1, min(most, int((self.now - run.created) / pace.each)))
        drawn = self.chance.getstate()
        changes = self._play_tasks(run, past, pace, most, undecided=True)
        if len(changes.tasks) < most:
            # Draw the same tasks again, so that the last of them ends now.
            self.chance.setstate(drawn)
            changes = self._play_tasks(run, past, pace, len(changes.tasks), undecided=True)
        return changes

    def _open_task(self, run: Run, tally: Tally, machine: Machine) -> Task:
        games = 32 * max(1, machine.cores // run.plan.threads)
        begun = self.now - timedelta(minutes=self.chance.uniform(0.5, 20))
        return Task(run.id, tally.tasks, tally.total, games, machine, begun, self.now)

    def _play_tasks(
        self,
        run: Run,
        players: Sequence[Machine],
        pace: PlayedPace,
        most: int,
        *,
        undecided: bool = False,
    ) -> Changes:
        """Play the tasks of a run one after the other, until it is decided or `most` are played.
        With `undecided` it stops before a verdict, and the last task ends now."""
        elo = self.chance.gauss(0.2, 2.5)
        run = replace(run, status=Status(approver=self.find_approver(run)))
        if undecided:
            run = replace(run, updated=max(run.created, self.now - pace.each * (most + 0.5)))
        tasks: list[Task] = []
        samples: list[ChartPoint] = []
        batches: list[PlayedBatch] = []
        failures: list[Event] = []
        pairs, nps = pace.pairs, fmean(one.nps for one in players) if players else REFERENCE_NPS
        for number in range(most):
            machine = self._find_player(players, number)
            results = draw_many_pairs(self.chance, elo, pairs)
            if self.chance.random() < 0.001:
                results = with_fields(results, crashes=pairs // 4)
            kind = self._judge(run.kind, run.tally.results + results, results)
            if undecided and kind.is_decided(run.tally.results + results, run.plan.games):
                break
            begun, games, swing = run.updated, 2 * pairs, self.chance.uniform(0.85, 1.15)
            ended = min(begun + pace.each / swing, self.now)
            times = (begun, ended)
            task = Task(run.id, number, games * number, games, machine, *times, results)
            tally = run.tally.opened(task).reported(NOTHING, results)
            run = run.with_play(kind, tally, ended)
            tasks.append(task)
            samples.append(self._sample(run, round(pace.cores * swing), nps))
            batches.append(self._batch(task))
            if self.chance.random() < 0.004:
                failures.append(invent_failure(self.chance, run, task))
            if run.decided:
                break
        failures += invent_repeated_failures(run, tasks)
        return Changes(
            runs=(run,),
            tasks=tuple(tasks),
            samples=tuple(samples),
            provenance=tuple(batches),
            events=(self._announce(run), self._approve(run), *failures),
        )

    def _find_player(self, players: Sequence[Machine], number: int) -> Machine:
        return players[number % len(players)] if players else invent_machine(self.chance, number)

    def _judge(self, kind: Kind, total: Results, results: Results) -> Kind:
        if kind.tune is None:
            return kind.with_report(total, None, Report(results)).kind
        ticket = []
        batches = []
        for _ in range(max(1, results.games // 16)):
            drawn = perturb(kind.tune, self.chance.randbytes(1)).issued
            won = self.chance.randint(3, 9)
            ticket.append(drawn)
            batches.append(TuneBatch(16, won, 12 - won, drawn.signature))
        report = Report(results, tuple(batches))
        return kind.with_report(total, tuple(ticket), report).kind

    def find_approver(self, run: Run) -> str:
        return next(name for name in sorted(APPROVERS) if name != run.plan.owner)

    def _sample(self, run: Run, cores: int, nps: float) -> ChartPoint:
        """Return a chart point of the run, with `cores` cores of `nps` nodes per second each."""
        return replace(chart_point(run, run.updated, cores * nps), cores=cores)

    def _batch(self, task: Task) -> PlayedBatch:
        return PlayedBatch(
            run=task.run,
            task=task.id,
            at=task.reported,
            games=task.results.games,
            runner="fastchess",
            version="1.4.0",
            new_hash="",
            base_hash="",
            factor=REFERENCE_NPS / task.machine.nps,
            latency_ms=self.chance.uniform(1, 9),
        )

    def _announce(self, run: Run) -> Event:
        return about_run(
            Action.NEW_RUN,
            run,
            run.plan.owner,
            run.created,
            run.plan.info or run.plan.new.message,
        )

    def _approve(self, run: Run) -> Event:
        soon = run.created + timedelta(minutes=self.chance.uniform(1, 50))
        return about_run(Action.APPROVE_RUN, run, run.status.approver, soon, "approved")


def _changed(changes: Changes, run: Run, tasks: tuple[Task, ...], *told: Event) -> Changes:
    return Changes(
        runs=(run,),
        tasks=tasks,
        samples=changes.samples,
        provenance=changes.provenance,
        events=(*changes.events, *told),
    )


def list_commits(changes: Changes) -> Iterator[Changes]:
    """Split changes that must be written one after the other, because struck-out results refer to
    their tasks."""
    yield with_fields(changes, bad=())
    if changes.bad:
        yield Changes(bad=changes.bad)
