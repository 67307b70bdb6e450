"""A farm's history, invented: people, machines and runs that look as if months had been played.

For pictures of pages, trials and benchmarks. Results are drawn for a true Elo difference, the
tests are judged by the very rules of real ones, so that their charts, verdicts and tasks agree.
The same seed gives the same history.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from random import Random

from msgspec.structs import replace as with_fields

from rookery.model.engine import (
    BUILT_IN,
    Catalogue,
    EngineRecord,
    PresetRecord,
    RecipeRecord,
    catalogue_of,
)
from rookery.model.events import Action, Event, about_run, about_task
from rookery.model.kinds import Fixed, Kind, Report, SprtTest, SpsaTuning
from rookery.model.machine import ClaimedAbilities, Machine
from rookery.model.plan import Plan, Side
from rookery.model.run import Run, Status, create
from rookery.model.task import NOTHING, Pentanomial, PlayedBatch, Results, Tally, Task
from rookery.people.users import User
from rookery.rules.answers import Changes, ChartPoint
from rookery.stats.sprt import Sprt
from rookery.stats.spsa import TuneBatch, new_tune

NAMES: tuple[str, ...] = (
    *("alva", "birk", "cleo", "dario", "edda", "fenn", "greta"),
    *("hanno", "ines", "jonas", "kaia", "levin", "mira", "nando"),
    *("odile", "pia", "quirin", "rosa", "silas", "tilda", "ulla"),
    *("vito", "wim", "xenia", "yara", "zeno", "amara", "bruno"),
    *("celia", "dimas"),
)
APPROVERS = frozenset({"alva", "dario", "mira"})
ENGINES = ("Stockfish", "Stockfish", "Stockfish", "Kestrel", "Merlin")
PROCESSORS = (
    ("AMD EPYC 9654 96-Core Processor", "x86-64-avx512icl", 1.10),
    ("AMD Ryzen 9 7950X 16-Core Processor", "x86-64-avx512icl", 1.55),
    ("AMD Ryzen 7 5800X 8-Core Processor", "x86-64-bmi2", 1.30),
    ("Intel(R) Core(TM) i7-9700K CPU @ 3.60GHz", "x86-64-bmi2", 1.05),
    ("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", "x86-64-vnni256", 0.85),
    ("Apple M2", "apple-silicon", 1.25),
)
CORES = (2, 4, 4, 8, 8, 8, 12, 16, 16, 24, 32, 64)
SYSTEMS = ("Linux 6.1.0-26-amd64", "Linux 5.15.0-122-generic", "Windows 11", "Darwin 23.6.0")
REFERENCE_NPS = 690_000.0
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
FAILURES = (
    "The engine disconnected unexpectedly.",
    "Wrong bench: 1284120 instead of 1284119.",
    "The download of the opening book timed out.",
    "Make failed: No space left on device.",
)


@lru_cache(maxsize=1)
def read_ideas() -> tuple[tuple[str, str], ...]:
    """Branches, and what their commit messages say; reads a file."""
    lines = (Path(__file__).parent / "seeding_ideas.txt").read_text().splitlines()
    parts = (line.partition(" | ") for line in lines if not line.startswith("#"))
    return tuple((tag, message) for tag, _, message in parts)


@dataclass(frozen=True, slots=True)
class SeedSize:
    """How much is invented: unfinished runs, machines that play, and finished runs."""

    runs: int = 200
    machines: int = 10_000
    history: int = 1000


def invent_users(now: datetime, password_hash: str) -> Iterator[User]:
    """Thirty people, a few of them approvers; two wait to be let in. All have one password."""
    for number, name in enumerate(NAMES):
        groups = frozenset({"group:approvers"}) if name in APPROVERS else frozenset[str]()
        yield User(
            name=name,
            email=f"{name}@example.org",
            password_hash=password_hash,
            groups=groups,
            blocked=name == "wim",
            pending=name in ("celia", "dimas"),
            machine_limit=16 if number % 3 else 1000,
            created=now - timedelta(days=400 - 13 * number),
        )


def invent_engines() -> tuple[EngineRecord, ...]:
    """Two engines beside those that every installation knows."""
    presets = (
        PresetRecord("STC", {"tc": "8+0.08", "sprt": "0 5"}),
        PresetRecord("LTC", {"tc": "40+0.4", "sprt": "0 4"}),
    )
    return tuple(
        EngineRecord(
            name=name,
            source=f"https://example.org/{name.lower()}/{name.lower()}",
            recipe=recipe,
            presets=presets,
        )
        for name, recipe in (
            ("Kestrel", RecipeRecord(kind="make")),
            ("Merlin", RecipeRecord(kind="cargo")),
        )
    )


@dataclass(slots=True)
class FarmSeed:
    """Draws one history. `take_run` gives what a run writes, run by run."""

    chance: Random
    now: datetime
    size: SeedSize
    catalogue: Catalogue = field(
        default_factory=lambda: catalogue_of([*BUILT_IN, *invent_engines()])
    )
    _machines: list[Machine] = field(default_factory=list)
    _number: int = 0

    def __post_init__(self) -> None:
        self._machines = [self._invent_machine(each) for each in range(self.size.machines)]

    def invent_runs(self) -> Iterator[Changes]:
        """The finished runs from the oldest on, then those that wait and play."""
        for left in range(self.size.history, 0, -1):
            begun = self.now - timedelta(hours=6 + 4.1 * left + self.chance.uniform(0, 3))
            yield self._finish_run(self._invent_run(begun))
        players = self._share_machines()
        for number, machines in enumerate(players):
            begun = self.now - timedelta(hours=self.chance.uniform(0.2, 30))
            run = self._invent_run(begun)
            if number % 12 == 0:
                yield Changes(runs=(run,), events=(self._announce(run),))
            else:
                yield self._play_run(run, machines)

    def _share_machines(self) -> list[list[Machine]]:
        """Which machines play which of the unfinished runs: a few have most."""
        shares: list[list[Machine]] = [[] for _ in range(self.size.runs)]
        busy = [each for each in range(self.size.runs) if each % 12 and each % 7]
        for machine in self._machines if busy else ():
            place = min(int(self.chance.expovariate(6) * len(busy)), len(busy) - 1)
            shares[busy[place]].append(machine)
        return shares

    def _invent_machine(self, number: int) -> Machine:
        name, arch, speed = self.chance.choice(PROCESSORS)
        user = NAMES[min(int(self.chance.expovariate(5) * len(NAMES)), len(NAMES) - 5)]
        system = "Darwin 23.6.0" if name.startswith("Apple") else self.chance.choice(SYSTEMS[:3])
        claims = ClaimedAbilities(version="0.1", cpu=name, runner="fastchess", sandbox=True)
        machine = Machine(
            uname=system,
            architecture=("64bit", "ELF"),
            cores=self.chance.choice(CORES),
            memory=32_768,
            min_threads=1,
            user=user,
            version=325,
            python_version=(3, 12, 3),
            gcc_version=(13, 2, 0),
            compiler="g++" if number % 4 else "clang++",
            key=f"{self.chance.getrandbits(32):08x}-{number % 65536:04x}-4222-8333-{number:012x}",
            modified=number % 97 == 0,
            arch=arch,
            engine_arch=arch,
            nps=REFERENCE_NPS * speed * self.chance.uniform(0.85, 1.1),
            near_github_limit=False,
            address=f"198.51.100.{number % 250 + 1}",
            country="?",
        )
        return with_fields(machine, rookery=claims) if number % 3 else machine

    def _invent_run(self, begun: datetime) -> Run:
        self._number += 1
        tag, message = self.chance.choice(read_ideas())
        tc, threads, bounds, _ = self.chance.choices(
            TIME_CONTROLS, [each[3] for each in TIME_CONTROLS]
        )[0]
        engine = self.chance.choice(ENGINES)
        source = self.catalogue.record(engine).source
        draw = self.chance.getrandbits(160)
        new = Side(
            tag if self.chance.random() < 0.6 else f"{tag}{self.chance.randint(2, 9)}",
            f"{draw:040x}",
            message=f"{message}\n\nBench: {self.chance.randint(1_000_000, 1_900_000)}",
            signature=str(self.chance.randint(1_000_000, 1_900_000)),
            engine=engine,
            repository=source,
        )
        base = Side("master", f"{draw >> 3:040x}", engine=engine, repository=source)
        kind = self._invent_kind(bounds)
        plan = Plan(
            sides=(new, base),
            games=60_000 if kind.name == "fixed" else 200_000 if kind.name == "spsa" else 800_000,
            tc=tc,
            threads=threads,
            owner=self.chance.choice(NAMES[:20]),
            book="UHO_Lichess_4852_v1.epd",
            priority=self.chance.choice((0, 0, 0, 0, -1, 1)),
            info=self.chance.choice(("", f"Second try of {tag}.", "Rebased, with tuned values.")),
        )
        run_id = f"{int(begun.timestamp()):08x}{self.chance.getrandbits(64):016x}"
        return create(run_id, plan, kind, self.catalogue, begun, median_nps=REFERENCE_NPS)

    def _invent_kind(self, bounds: tuple[float, float]) -> Kind:
        draw = self.chance.random()
        if draw < 0.05:
            return SpsaTuning(new_tune(PARAMETERS, 200_000))
        return Fixed() if draw < 0.12 else SprtTest(Sprt(*bounds, batch_size=4))

    def _finish_run(self, run: Run) -> Changes:
        """Plays a run to its end; some are stopped by their owner before."""
        patience = self.chance.choices((1.0, 0.3), (9, 1))[0]
        players = self.chance.sample(self._machines, min(len(self._machines), 60))
        changes = self._play_tasks(run, players, TASKS_PER_RUN * 3, patience)
        played = changes.runs[0]
        flag = played.kind.flag(played.tally.results)
        status = replace(played.status, finished=True, flag=flag)
        tally = replace(played.tally, workers=0, cores=0, committed=played.tally.results.games)
        ended = replace(played, status=status, tally=tally)
        told = about_run(Action.FINISHED_RUN, ended, ended.plan.owner, ended.updated)
        return _changed(changes, ended, tuple(task.closed() for task in changes.tasks), told)

    def _play_run(self, run: Run, machines: Sequence[Machine]) -> Changes:
        """A run that plays now: some tasks are over, each of the machines has one."""
        past = self.chance.sample(self._machines, min(len(self._machines), 30))
        changes = self._play_tasks(run, past, self.chance.randint(3, 25), 1.0, undecided=True)
        played, over = changes.runs[0], tuple(task.closed() for task in changes.tasks)
        tally = replace(played.tally, workers=0, cores=0, committed=played.tally.results.games)
        active: list[Task] = []
        for machine in machines:
            task = self._open_task(played, tally, machine)
            results = self._draw_results(0.3, self.chance.randrange(0, task.games // 2))
            tally = tally.opened(task).reported(NOTHING, results)
            active.append(replace(task, results=results))
        playing = replace(played, tally=tally, updated=self.now)
        return _changed(changes, playing, (*over, *active))

    def _open_task(self, run: Run, tally: Tally, machine: Machine) -> Task:
        games = 32 * max(1, machine.cores // run.plan.threads)
        begun = self.now - timedelta(minutes=self.chance.uniform(0.5, 20))
        return Task(run.id, tally.tasks, tally.total, games, machine, begun, self.now)

    def _play_tasks(
        self,
        run: Run,
        players: Sequence[Machine],
        most: int,
        patience: float,
        *,
        undecided: bool = False,
    ) -> Changes:
        """The run after its tasks were played one after the other, until it is decided or `most`
        were played; with `undecided` it stops before a verdict."""
        elo = self.chance.gauss(0.2, 1.4)
        run = replace(run, status=Status(approver=self._find_approver(run)))
        tasks: list[Task] = []
        samples: list[ChartPoint] = []
        batches: list[PlayedBatch] = []
        failures: list[Event] = []
        pairs = self.chance.randint(150, 700)
        pace = timedelta(minutes=self.chance.uniform(1, 9))
        for number in range(int(most * patience) + 1):
            machine = players[number % len(players)] if players else self._invent_machine(number)
            results = self._draw_results(elo, pairs)
            kind = self._judge(run.kind, run.tally.results + results, results)
            if undecided and kind.is_decided(run.tally.results + results, run.plan.games):
                break
            begun = run.updated
            task = Task(
                run.id, number, 2 * pairs * number, 2 * pairs, machine, begun, begun + pace, results
            )
            tally = run.tally.opened(task).reported(NOTHING, results)
            run = run.with_play(kind, tally, min(begun + pace, self.now))
            tasks.append(task)
            samples.append(self._sample(run, 40 + 10 * (number % 9)))
            batches.append(self._batch(task))
            if self.chance.random() < 0.004:
                failures.append(self._fail(run, task))
            if run.decided:
                break
        return Changes(
            runs=(run,),
            tasks=tuple(tasks),
            samples=tuple(samples),
            provenance=tuple(batches),
            events=(self._announce(run), self._approve(run), *failures),
        )

    def _judge(self, kind: Kind, total: Results, results: Results) -> Kind:
        if not isinstance(kind, SpsaTuning):
            return kind.with_report(total, None, Report(results)).kind
        ticket = []
        batches = []
        for _ in range(8):
            drawn = kind.perturbed(self.chance.randbytes(1)).issued
            won = self.chance.randint(3, 9)
            ticket.append(drawn)
            batches.append(TuneBatch(16, won, 12 - won, drawn.signature))
        report = Report(results, tuple(batches))
        return kind.with_report(total, tuple(ticket), report).kind

    def _draw_results(self, elo: float, pairs: int) -> Results:
        """Results of so many pairs at a true difference."""
        shift = elo * 0.0017
        chances = (0.006, 0.225 - shift, 0.538, 0.225 + shift, 0.006)
        drawn = [self._draw_count(pairs, each) for each in chances]
        drawn[2] = max(0, pairs - sum(drawn) + drawn[2])
        p: Pentanomial = (drawn[0], drawn[1], drawn[2], drawn[3], drawn[4])
        decided = int(p[2] * 0.55)
        return Results(
            wins=2 * p[4] + p[3] + decided,
            losses=2 * p[0] + p[1] + decided,
            draws=p[1] + p[3] + 2 * (p[2] - decided),
            crashes=int(self.chance.random() < 0.01),
            time_losses=int(self.chance.random() < 0.05),
            pentanomial=p,
        )

    def _draw_count(self, pairs: int, chance: float) -> int:
        spread = (pairs * chance * (1 - chance)) ** 0.5
        return min(pairs // 3, max(0, round(self.chance.gauss(pairs * chance, spread))))

    def _find_approver(self, run: Run) -> str:
        return next(name for name in sorted(APPROVERS) if name != run.plan.owner)

    def _sample(self, run: Run, cores: int) -> ChartPoint:
        llr = run.kind.state.llr if isinstance(run.kind, SprtTest) else 0.0
        results = run.tally.results
        return ChartPoint(run.id, run.updated, results.games, results.pentanomial, llr, cores)

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
            run.plan.info or run.plan.sides[0].message,
        )

    def _approve(self, run: Run) -> Event:
        soon = run.created + timedelta(minutes=self.chance.uniform(1, 50))
        return about_run(Action.APPROVE_RUN, run, run.status.approver, soon, "approved")

    def _fail(self, run: Run, task: Task) -> Event:
        words = self.chance.choice(FAILURES)
        return about_task(Action.FAILED_TASK, run, task, task.reported, words)


def _changed(changes: Changes, run: Run, tasks: tuple[Task, ...], *told: Event) -> Changes:
    return Changes(
        runs=(run,),
        tasks=tasks,
        samples=changes.samples,
        provenance=changes.provenance,
        events=(*changes.events, *told),
    )
