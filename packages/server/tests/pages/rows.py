"""Rows of runs in every state, as pages show them: playing, idle, waiting, ended in each colour."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from rookery.core.model.kinds import Fixed, Kind, SpsaTuning
from rookery.core.model.plan import Plan
from rookery.core.model.run import Run, Status, nodes_per_second
from rookery.core.model.task import NOTHING, Results, Task, recounted
from rookery.core.stats.spsa import ParameterSample
from rookery.server.farm.rules.observations import chart_point
from tests.makers import BOSS, make_machine, make_plan, make_run, make_side, sprt, spsa
from tests.twins.farm_commits import MemoryRows

POINTS = 60
PAIRS_A_POINT = 400
MACHINES = (("ada", "x86-64-avx2", 16), ("bob", "apple-silicon", 8), ("wanda", "x86-64-bmi2", 32))


def drawn_pairs(chance: random.Random, shares: tuple[int, ...], number: int) -> Results:
    """So many pairs with these odds for each score."""
    found = chance.choices(range(5), shares, k=number)
    ll, ld, even, wd, ww = (found.count(place) for place in range(5))
    return Results(
        wins=2 * ww + wd,
        losses=2 * ll + ld,
        draws=ld + 2 * even + wd,
        crashes=0,
        time_losses=0,
        pentanomial=(ll, ld, even, wd, ww),
    )


class Rows:
    """Fills the rows; each run has points of a chart and a task on each machine."""

    def __init__(self, now: datetime) -> None:
        self.rows = MemoryRows()
        self._now = now
        self._chance = random.Random(7)

    def run(
        self,
        name: str,
        kind: Kind,
        shares: tuple[int, ...] = (),
        *,
        hours: float = 5.0,
        owner: str = "olga",
        status: Status | None = None,
        points: int = POINTS,
        left: bool = False,
    ) -> Run:
        """`shares` are the odds of the five scores; without any nothing was played. A run that was
        `left` has no machine any more."""
        start = self._now - timedelta(hours=hours)
        plan = _plan(name, owner)
        run = replace(make_run(name, plan, kind), created=start, updated=self._now)
        run = replace(run, status=status or run.status)
        tasks = list(self._tasks(run, start)) if shares else []
        for number in range(points if shares else 0):
            place = number % len(tasks)
            more = drawn_pairs(self._chance, shares, PAIRS_A_POINT // points * 10)
            task = replace(tasks[place], results=tasks[place].results + more, reported=self._now)
            tasks[place] = task
            run = replace(run, tally=recounted(tasks), kind=_judged(run, tasks))
            at = start + timedelta(hours=hours) * (number + 1) / points
            point = chart_point(run, at, nodes_per_second(tasks))
            self.rows.samples.setdefault(run.id, {})[point.games] = point
        return self._kept(run, tasks, left=left)

    def begin(self, name: str, kind: Kind) -> Run:
        """A run that machines have just been given."""
        run = replace(make_run(name, _plan(name, "sven"), kind), created=self._now)
        tasks = list(self._tasks(run, self._now))[:2]
        return self._kept(replace(run, tally=recounted(tasks)), tasks)

    def tune(self, name: str, kind: SpsaTuning) -> Run:
        """A tune on its way, with a walk for each parameter."""
        run = self.run(name, kind, (20, 205, 560, 205, 20))
        walked, thetas = [], [each.line.start for each in kind.tune.parameters]
        for _ in range(POINTS):
            thetas = [theta + self._chance.gauss(0.2, 1.0) for theta in thetas]
            walked.append(tuple(ParameterSample(theta, 0.001, 3.0) for theta in thetas))
        tune = replace(kind.tune, iteration=12_000, history=tuple(walked), thetas=tuple(thetas))
        self.rows.runs[run.id] = replace(run, kind=replace(kind, tune=tune))
        return self.rows.runs[run.id]

    def _tasks(self, run: Run, start: datetime) -> Iterator[Task]:
        for number, (user, arch, cores) in enumerate(MACHINES):
            machine = make_machine(f"{user}{run.id[:4]}", cores, user=user, arch=arch, nps=7e5)
            yield Task(run.id, number, number * 20_000, 20_000, machine, start, start)

    def _kept(self, run: Run, tasks: list[Task], *, left: bool = False) -> Run:
        if run.status.finished or left:
            tasks = [task.closed() for task in tasks]
            run = replace(run, tally=recounted(tasks))
        self.rows.runs[run.id] = run
        self.rows.tasks |= {(task.run, task.id): task for task in tasks}
        return run


def _plan(name: str, owner: str) -> Plan:
    sides = (make_side(name, commit="a" * 40), make_side("master", commit="b" * 40))
    return make_plan(
        sides=sides,
        games=80_000,
        owner=owner,
        info=f"Try {name} once more, see https://example.org/{name}",
    )


def _judged(run: Run, tasks: list[Task]) -> Kind:
    total = sum((task.results for task in tasks), NOTHING)
    return run.kind.rejudged(total)


def filled(now: datetime, *, left: str = "") -> MemoryRows:
    """Everything that a page may have to show; `left` names a further run, which no machine plays
    any more."""
    rows = Rows(now)
    over = Status(approver=BOSS.name, finished=True)
    rows.run("late-move-pruning", sprt(elo1=2.0), (20, 200, 560, 212, 22))
    rows.run("history-bonus", sprt(elo1=2.0), (20, 210, 560, 200, 20), hours=2.0, owner="sven")
    rows.tune("tune-search", spsa(40_000, "A,100,0,200,10,0.002\nB,30,0,60,3,0.002"))
    rows.begin("first-moves", sprt(elo1=2.0))
    rows.run("fixed-check", Fixed(), (20, 210, 560, 200, 20), hours=1.0)
    rows.run("quiet-checks", sprt(elo1=2.0))
    rows.run("idea", sprt(elo1=2.0), status=Status())
    rows.run("simplify-time", sprt(elo0=-1.75, elo1=0.25), status=Status(), owner="sven")
    rows.run("king-safety", sprt(elo1=10.0), (15, 170, 560, 230, 25), status=over, hours=30.0)
    rows.run("remove-term", sprt(elo0=-10.0, elo1=0.0), (15, 190, 560, 210, 20), status=over)
    rows.run("razoring", sprt(elo1=30.0), (20, 200, 560, 214, 20), status=over, owner="sven")
    rows.run("stopped-early", sprt(elo1=2.0), (20, 210, 560, 205, 20), status=over, points=8)
    rows.run("aspiration", sprt(elo1=10.0), (25, 230, 540, 180, 20), status=over)
    if left:
        rows.run(left, sprt(elo1=2.0), (20, 210, 560, 205, 20), left=True)
    return rows.rows
