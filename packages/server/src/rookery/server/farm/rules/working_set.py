"""The working set: every unfinished run with its active tasks, in memory.

This is the only mutable object of the core. It has one writer, the event loop of the primary, and
no locks. It holds frozen values that are replaced as a whole; the index, the machine table and its
other parts change only together with it. Every sum over tasks (a run's tally, an engine's cores, a
user's machines) changes only here.

A task is active exactly while it is in the set. Ended tasks are only in the database.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from rookery.core.model.actor import Actor
from rookery.core.model.events import SYSTEM, Action, Event, about_run, about_task
from rookery.core.model.machine import Machine
from rookery.core.model.run import DecidedBy, Run
from rookery.core.model.task import NOTHING, Players, Task, TaskKey
from rookery.server.farm.rules import lifecycle, purge
from rookery.server.farm.rules.answers import Changes, Closing
from rookery.server.farm.rules.lifecycle import TransitionResult, require_owner
from rookery.server.farm.rules.machines import MachineTable
from rookery.server.farm.rules.observations import Failures, GamePaces, LastSeen
from rookery.server.farm.rules.purge import Purged, Purging
from rookery.server.farm.rules.run_index import RunIndex

NEARLY_ALL = 0.9
"""The part of a run's games from one machine or user at which its verdict is marked."""
HALF = 0.5
"""The part of a run's games from newcomers at which its verdict is marked."""


def _as_it_is(run: Run) -> Run:
    return run


class WorkingSet:
    """Unfinished runs and active tasks; the module's docstring says who may change them."""

    def __init__(
        self,
        engine_shares: Mapping[str, float] | None = None,
        renewed: Callable[[Run], Run] | None = None,
        standing: AbstractSet[str] | None = None,
    ) -> None:
        self.renewed = renewed or _as_it_is
        """A function that gives a run that enters the set the present demands of its engines."""
        self._standing = standing
        """The users with standing; None where everybody has it."""
        self.newcomers: set[str] = set()
        """Users without standing, as far as known, who have played."""
        self.index = RunIndex(engine_shares)
        self.machines = MachineTable()
        self.last_seen = LastSeen()
        self.paces = GamePaces()
        self.failures = Failures()
        self.players = Players()
        self._runs: dict[str, Run] = {}
        self._tasks: dict[str, dict[int, Task]] = {}
        self._excessive: dict[str, set[int]] = {}

    def runs(self) -> Mapping[str, Run]:
        return self._runs

    def tasks(self, run_id: str) -> Collection[Task]:
        """Return the active tasks of a run."""
        return self._tasks.get(run_id, {}).values()

    def task(self, key: TaskKey) -> Task | None:
        """Return a task while it is active."""
        tasks = self._tasks.get(key[0])
        return tasks.get(key[1]) if tasks else None

    def excessive(self, run_id: str) -> tuple[Task, ...]:
        """Return the active tasks of a run with too many crashes or time losses."""
        tasks = self._tasks.get(run_id, {})
        return tuple(tasks[task_id] for task_id in sorted(self._excessive.get(run_id, ())))

    def task_at(self, short_name: str) -> Task | None:
        """Return the active task of a machine."""
        state = self.machines.get(short_name)
        return self.task(state.task) if state and state.task else None

    def decided_by(self, run: Run) -> DecidedBy:
        """Whether nearly all counted games are from one machine, or from one user although others
        have machines, or half of them are from newcomers. Games from before a run was reopened are
        attributed to nobody until the next start of the server."""
        games = run.tally.results.games
        if not games or not run.kind.may_purge:
            return DecidedBy.NOBODY
        if self.players.most_of_a_machine(run.id) >= NEARLY_ALL * games:
            return DecidedBy.MACHINE
        user, played = self.players.first_user(run.id)
        if played >= NEARLY_ALL * games and self.machines.has_others(user):
            return DecidedBy.USER
        new = self._newcomers_games(run.id)
        return DecidedBy.NEWCOMERS if new >= HALF * games else DecidedBy.NOBODY

    def _newcomers_games(self, run_id: str) -> int:
        if self._standing is None:
            return 0
        by_user = self.players.of_users(run_id)
        return sum(games for user, games in by_user.items() if user not in self._standing)

    def would_play(self, machine: Machine, now: datetime) -> Run | None:
        """Return the run that a machine would get if it asked now and its present task were
        over."""
        past = self.machines.past(machine, now)
        task = self.task_at(machine.short_name)
        if task is None:
            chosen = self.index.choose(machine, past)
        else:
            run = self._runs[task.run]
            self.index.put(run.with_tally(run.tally.closed(task)))
            chosen = self.index.choose(machine, past)
            self.index.put(run)
        return None if chosen is None else self._runs[chosen]

    def admit(self, run: Run, tasks: Iterable[Task], now: datetime) -> None:
        """Add a stored run with its active tasks, each as if it had just been heard of."""
        assert not run.status.finished
        self._runs[run.id] = run
        self._tasks[run.id] = {}
        for task in tasks:
            self._add_task(task, now)
        self.index.put(run)

    def restore(self, tasks: Iterable[Task], now: datetime) -> None:
        """Add further stored tasks of a run that was admitted."""
        for task in tasks:
            self._add_task(task, now)

    def open(self, task: Task, now: datetime) -> Run:
        """Add a new task and return its run."""
        run = self._runs[task.run]
        self._add_task(task, now)
        return self._keep(run.with_tally(run.tally.opened(task)))

    def report(self, run: Run, task: Task, now: datetime) -> None:
        """Replace a run and a task after a result; neither cores nor open games have changed."""
        self._runs[run.id] = run
        user = task.machine.user
        played = task.results.games - self._tasks[task.run][task.id].results.games
        self.players.add(run.id, task.machine.short_name, user, played)
        if self._standing is not None and user not in self._standing:
            self.newcomers.add(user)
        self.annotate(task, now)
        self._mark(task)
        self.failures.clear(run.id)

    def annotate(self, task: Task, now: datetime) -> None:
        """Replace an active task that changed without a result."""
        self._tasks[task.run][task.id] = task
        self.last_seen.note((task.run, task.id), now)

    def close(self, task: Task) -> tuple[Run, Task]:
        """End an active task; return its run and the task in their new state."""
        run = self._runs[task.run]
        del self._tasks[task.run][task.id]
        self._excessive.get(task.run, set()).discard(task.id)
        self.machines.release(task)
        return self._keep(run.with_tally(run.tally.closed(task))), task.closed()

    def set_apart(self, task: Task, *, strike: bool) -> tuple[Run, Task]:
        """End an active task and, with `strike`, remove its results from the run's sums."""
        run, closed = self.close(task)
        if not strike:
            return run, closed
        if games := closed.results.games:
            self.players.add(run.id, task.machine.short_name, task.machine.user, -games)
            tally = run.tally.without((closed,))
            run = self._keep(run.with_play(run.kind.rejudged(tally.results), tally, run.updated))
        return run, replace(closed, bad=True, results=NOTHING)

    def settle(self, run: Run, now: datetime) -> tuple[Closing, ...]:
        """Update the set after a transition of a run's life cycle."""
        if not run.status.finished:
            self._tasks.setdefault(run.id, {})
            self._keep(run)
            return ()
        self.index.remove(run.id)
        self.paces.forget(run.id)
        self.failures.forget(run.id)
        self.players.forget(run.id)
        self._runs.pop(run.id, None)
        self._excessive.pop(run.id, None)
        tasks = tuple(self._tasks.pop(run.id, {}).values())
        self.machines.release_run(run.id)
        return (Closing(run.id, now, tasks),) if tasks else ()

    def refresh_share(self, run_id: str, share: float) -> None:
        """Set a run's share; shares are recomputed after a restart and never stored."""
        run = self._runs[run_id]
        if run.share != share:
            self._keep(run.with_share(share))

    def _add_task(self, task: Task, now: datetime) -> None:
        self._tasks[task.run][task.id] = task
        self._mark(task)
        self.machines.assign(task, self._runs)
        self.last_seen.note((task.run, task.id), now)

    def _mark(self, task: Task) -> None:
        """Note whether a task has too many crashes or time losses, since a run may end with too
        many tasks to examine."""
        if task.results.excessive():
            self._excessive.setdefault(task.run, set()).add(task.id)
        elif marked := self._excessive.get(task.run):
            marked.discard(task.id)

    def _keep(self, run: Run) -> Run:
        self._runs[run.id] = run
        self.index.put(run)
        return run


# How tasks and runs end, and the events of that.


def end_task(working: WorkingSet, task: Task, now: datetime, *events: Event) -> Changes:
    """End an active task; do nothing for a task that is not active any more."""
    if working.task((task.run, task.id)) is None:
        return Changes()
    run, closed = working.close(task)
    excess = (excess_event(run, closed, now),) if closed.results.excessive() else ()
    return Changes(runs=(run,), tasks=(closed,), events=(*excess, *events))


def fail_task(working: WorkingSet, task: Task, message: str, now: datetime) -> Changes:
    run = working.runs()[task.run]
    event = about_task(Action.FAILED_TASK, run, task, now, message)
    return end_task(working, task, now, event)


def end_dead_task(working: WorkingSet, task: Task, now: datetime) -> Changes:
    """End a task that has been silent for too long."""
    run = working.runs()[task.run]
    return end_task(working, task, now, about_task(Action.DEAD_TASK, run, task, now))


def excess_event(run: Run, task: Task, now: datetime) -> Event:
    counts = f"{task.results.crashes} crashes, {task.results.time_losses} time losses"
    message = f"{counts} in {task.results.games} games"
    return about_task(Action.CRASH_OR_TIME, run, task, now, message)


def finish_decided(working: WorkingSet, run: Run, now: datetime) -> Changes:
    """Stop a run that has nothing left to play. If a purge is due, the purge may revive it, so its
    end is not logged yet."""
    stopped = lifecycle.stopped(run)
    stopped = replace(stopped, status=replace(stopped.status, decided_by=working.decided_by(run)))
    told = () if is_purge_due(stopped) else (finished_event(stopped, now),)
    return settle(working, TransitionResult(stopped, told), now)


def finished_event(run: Run, now: datetime) -> Event:
    results = run.tally.results
    decided_by = run.status.decided_by
    mark = f", played by {decided_by.words}" if decided_by else ""
    message = f"{results.games} games: {results.wins} won, {results.losses} lost{mark}"
    return about_run(Action.FINISHED_RUN, run, run.plan.owner, now, message)


def settle(working: WorkingSet, moved: TransitionResult, now: datetime) -> Changes:
    """Carry out a transition of the life cycle: keep, add or remove the run, and end its tasks."""
    if not moved.changed:
        return Changes()
    run, before = moved.run, working.runs().get(moved.run.id)
    ended = before is not None and run.status.finished
    if ended:
        # The time for which its games are kept counts from here.
        run = replace(run, updated=now)
    elif before is None and not run.status.finished:
        run = working.renewed(run)
        if run.status.failures:
            working.machines.forgive(run.id)
    excessive = working.excessive(run.id) if run.status.finished else ()
    excess = tuple(excess_event(run, task, now) for task in excessive)
    closings = working.settle(run, now)
    return Changes(
        runs=(run,),
        closings=closings,
        events=(*excess, *moved.events),
        purges=(Purging(run.id, revive=run.decided),) if ended and is_purge_due(run) else (),
    )


def is_purge_due(run: Run) -> bool:
    status = run.status
    at_rest = status.finished and not status.failed and not status.deleted
    return at_rest and run.plan.auto_purge and run.kind.may_purge


# People's commands on runs. The rules are in `lifecycle` and `purge`; a caller finds the run in the
# working set or the database, applies one of those, and passes the result to `settle`.


def submit(working: WorkingSet, run: Run, now: datetime) -> Changes:
    """Add a new run, which waits for approval."""
    event = about_run(Action.NEW_RUN, run, run.plan.owner, now)
    return settle(working, TransitionResult(run, (event,)), now)


def begin_purge(run: Run, actor: Actor, now: datetime) -> Purging:
    """Begin a purge that an owner or approver asked for; raise a RunFault."""
    require_owner(run, actor)
    purge.check(run, now)
    return Purging(run.id, actor.name)


def conclude_purge(
    working: WorkingSet, run: Run, purging: Purging, now: datetime
) -> tuple[Purged, Changes]:
    """Judge the run anew after its purge. If the purge was due at the run's end, only now is it
    certain that the run is over."""
    purged = purge.conclude(run, purging, now)
    changes = settle(working, TransitionResult(purged.run, purged.events), now)
    over = purging.actor == SYSTEM and purging.revive and not purged.revived
    return purged, changes + (_finished_changes(purged.run, now) if over else Changes())


def drop_purge(run: Run, purging: Purging, now: datetime) -> Changes:
    """Drop a due purge that is no longer possible, because the run is over or continues."""
    over = run.status.finished and purging.revive and purging.actor == SYSTEM
    return _finished_changes(run, now) if over else Changes()


def _finished_changes(run: Run, now: datetime) -> Changes:
    return Changes(events=(finished_event(run, now),))
