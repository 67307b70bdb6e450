r"""The primary: the one process that changes the working set. It acts in memory and answers after
the commit.

    opened --> serving --a commit fails--> rebuilding --rows read anew--> serving
         \--another is primary--> standing by --its lease ends--------^

Theory of operation. An act changes memory at once and puts its changes into the group commit. Its
answer leaves when everything put so far is committed, because it may depend on any of that; so no
answer tells of state that could still be lost. When a commit fails or its outcome is unknown, all
waiting callers are told to try again, memory is discarded, the fence is taken anew, and the state
is read from the rows. Several processes may want to be primary: those without the lease keep trying
to get it, which is how they take over from a dead primary.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from msgspec.structs import replace

from rookery.core.clock import Clock
from rookery.core.errors import StateAway
from rookery.core.model.run import Run, RunFault
from rookery.server.db.lease import LeaseHeld
from rookery.server.farm.commits import CommitStats, QueueFull, StateLost
from rookery.server.farm.read_values import Snapshot
from rookery.server.farm.rules.answers import Changes, Decision, DoneCommand
from rookery.server.farm.rules.eligibility import STANDARD_POLICY, Policy
from rookery.server.farm.rules.observations import LogBound
from rookery.server.farm.rules.purge import Purging
from rookery.server.farm.rules.working_set import WorkingSet, finish_decided
from rookery.server.farm.terms import Act, Opened, PrimaryTerm, StartPurge, Store
from rookery.server.http.command_keys import KeyReused, clear_key, current_key
from rookery.server.logs import Log


class Rebuilding(StateAway):
    """The fleet is being read from the database; nothing can be told until that is done."""


A = TypeVar("A")
P = ParamSpec("P")
FindStanding = Callable[[Sequence[str]], Awaitable[AbstractSet[str]]]
"""Finds those of some users whose accounts are old enough, and whose machines have contributed
enough, that a verdict may rest on their games."""

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0
LOOK_SECONDS = 0.5
"""How often a standby checks whether the primary still lives."""
SLACK_SECONDS = 0.01
HOLD_BACK_SECONDS = 3.0
"""How long a process that stepped down lets others take over before it tries again."""
HELD_BACK_LOOK_SECONDS = 0.05
TASKS_AT_ONCE = 1_000
"""How many tasks are put into the working set in one step of the loop."""
ANSWER_SECONDS = 0.05
"""The time allowed for the answers to the last commit to be sent."""


def always() -> bool:
    """Return the lease check where there is only one process."""
    return True


class Primary:
    """The working set with its group commit, and the recovery when a commit fails. One per process;
    used only on the event loop."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        log: Log,
        policy: Policy = STANDARD_POLICY,
        is_held: Callable[[], bool] = always,
    ) -> None:
        """`is_held` tells whether this process holds the lease; without it, memory may be out of
        date."""
        self.clock = clock
        self.reads = store.reads
        self.engine_shares: dict[str, float] = {}
        """The share of the fleet that each engine is entitled to; read for each machine that
        asks."""
        self._standing: set[str] = set()
        """The users that were found to have standing."""
        self._find_standing: FindStanding | None = None
        self._store = store
        self._log = log
        self._policy = policy
        self._renewed: Callable[[Run], Run] | None = None
        self._start_purge: StartPurge | None = None
        self._log_bound = LogBound()
        self._is_held = is_held
        self._term: PrimaryTerm | None = None
        self._begun = asyncio.Event()
        self._released = asyncio.Event()
        self._held_back_until = 0.0
        self._on_open: list[Opened] = []
        self._on_loss: list[Callable[[], object]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def set_run_refresher(self, renewed: Callable[[Run], Run]) -> None:
        """Set the function that gives a reopened run the present demands of its engines."""
        self._renewed = renewed

    def set_purge_starter(self, start: StartPurge) -> None:
        """Set the function that carries out due purges."""
        self._start_purge = start

    def set_standing(self, find: FindStanding) -> None:
        """Set the function that finds out which users have standing; without it, all have it. So it
        is where the fleet is simulated."""
        if not self._policy.simulated:
            self._find_standing = find

    async def look_up_newcomers(self) -> None:
        """Look up whether users who have played have standing by now."""
        newcomers = self.term().working.newcomers
        await self._learn_standing(newcomers)
        newcomers -= self._standing

    async def _learn_standing(self, users: Iterable[str]) -> None:
        unknown = sorted(set(users) - self._standing)
        if unknown and self._find_standing is not None:
            self._standing |= await self._find_standing(unknown)

    def on_open(self, act: Opened) -> None:
        """Register a function that is called with each new term before the term is used."""
        self._on_open.append(act)

    def on_loss(self, act: Callable[[], object]) -> None:
        """Register a function that is called when a term's memory is dropped, before the rows are
        read again."""
        self._on_loss.append(act)

    async def open(self) -> None:
        """Begin the first term, or stand by if another process is primary; raise if neither is
        possible."""
        try:
            self._start(await self._begin())
        except LeaseHeld as held:
            self.spawn(self._rebuild(held))

    async def close(self) -> None:
        """Wait for pending commits and end."""
        self._term = None
        for task in tuple(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self._store.close()

    def lost(self, reason: str) -> None:
        """Note that a commit is lost; the store calls this even if no caller waits for it."""
        if self._term is not None:
            self._log.warning("fleet_commit_failed", reason=reason)
            self._lose(self._term)
            self._store.abandon(reason)

    @property
    def role(self) -> str:
        """`primary`, or `secondary` if another process is primary."""
        return "primary" if self._is_held() else "secondary"

    @property
    def is_serving(self) -> bool:
        return self.present_term() is not None

    async def wait_until_serving(self) -> None:
        """Return once this process is primary and has read the fleet."""
        while not self.is_serving:
            await self._begun.wait()
            if not self.is_serving:
                await asyncio.sleep(FIRST_PAUSE_SECONDS)

    def hold_back(self) -> None:
        """Let another process become primary for a while."""
        self._held_back_until = self.clock.seconds() + HOLD_BACK_SECONDS

    def come_forward(self) -> None:
        """Take the lease as soon as it is free, also after a step-down of a moment ago."""
        self._held_back_until = 0.0

    async def step_down(self, release: Callable[[], Awaitable[None]]) -> bool:
        """Hand the fleet over to another process: accept nothing new, wait until everything that
        was put is committed and answered, and then release the lease. False if this process is not
        primary. Calls that arrive in the meantime wait for the next primary."""
        term, self._term = self._term, None
        if term is None:
            return False
        self._begun.clear()
        self.hold_back()
        try:
            await self._store.close()
            await asyncio.sleep(ANSWER_SECONDS)
            await release()
        finally:
            self.spawn(self._rebuild())
        return True

    def wake_standby(self, _what: str = "") -> None:
        """Wake a standby to check the lease, which may be free."""
        self._released.set()

    def excuse_silence(self) -> None:
        """Excuse the silence of all tasks, because the server could not be reached until now."""
        if self._term is not None:
            self._term.working.last_seen.excuse_silence(self.clock.now())

    def commit_stats(self) -> CommitStats:
        return self._store.stats()

    def term(self) -> PrimaryTerm:
        """Return the present term; raise Rebuilding."""
        term = self.present_term()
        if term is None:
            raise Rebuilding
        return term

    def present_term(self) -> PrimaryTerm | None:
        """Return the present term; None while another process may be primary or rows are being
        read."""
        return self._term if self._term is not None and self._is_held() else None

    async def answer(self, act: Act[A], *, since: PrimaryTerm | None = None) -> A:
        """Carry out an act in memory, put its changes, and answer when all of it is committed. If
        the act relies on rows that the caller read, `since` is the term in which it read them: in a
        later term, another process may have changed them, so StateLost is raised."""
        term = await self.recall_command()
        if since is not None and since is not term:
            raise StateLost
        try:
            answer, committed = self.decide(act)
        except RunFault:
            # A refusal depends on uncommitted state just as a grant does.
            await self.wait_committed(term)
            raise
        await self._wait(term, committed)
        return answer

    async def recall_command(self) -> PrimaryTerm:
        """Return the present term, after looking up whether the task's command was carried out
        before. Raise KeyReused if a command with the same key but another body was."""
        term, key = self.term(), current_key()
        if key is None or key.used:
            return term
        done = term.find_command(key.text)
        if done is None and key.repeated:
            found = await self.reads.done_command(key.text)
            if self.term() is not term:
                raise StateLost
            done = term.find_command(key.text) or found
        if done is not None:
            if key.body and done.body and key.body != done.body:
                raise KeyReused
            term.note_done(done)
        return term

    def decide(
        self,
        act: Callable[Concatenate[PrimaryTerm, datetime, P], Decision[A]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[A, asyncio.Future[bool] | None]:
        """Carry out an act in memory and put its changes. The answer may leave once the future
        gives true, or at once if it is None; a RunFault may leave once the term is committed."""
        term = self._term
        if term is None or not self._is_held():
            raise Rebuilding
        try:
            term.check_capacity()
        except StateLost:
            self._lose(term)
            raise
        try:
            done = act(term, self.clock.now(), *args, **kwargs)
        except RunFault:
            raise
        except BaseException:
            # The act may have changed memory in part, and memory can't be rolled back.
            self._lose(term)
            raise
        self._put(term, done.changes)
        return done.answer, term.committed()

    async def wait_committed(self, term: PrimaryTerm) -> None:
        """Wait until everything in memory is committed; raise StateLost."""
        try:
            committed = term.committed()
        except StateLost:
            self._lose(term)
            raise
        await self._wait(term, committed)

    async def _wait(self, term: PrimaryTerm, committed: asyncio.Future[bool] | None) -> None:
        if committed is not None and not await committed:
            self._lose(term)
            raise StateLost

    async def publish(self, part: str, body: bytes | None) -> None:
        """Publish a part of memory for other processes; a body of None confirms the one published
        before."""
        self.term()
        await self._store.publish(part, body)

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Run background work that outlives the call which started it."""
        task = asyncio.ensure_future(self._log_failure(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task that is cancelled before it starts would leave its coroutine unclosed.
        task.add_done_callback(lambda _: work.close())

    def _put(self, term: PrimaryTerm, changes: Changes) -> None:
        if not changes:
            return
        if changes.events and not self._policy.simulated:
            changes = replace(changes, events=self._log_bound.select_events(changes.events))
        key = current_key()
        if key is not None and not key.used:
            run = changes.runs[-1].id if changes.runs else ""
            done = DoneCommand(key.text, run, key.body)
            changes = replace(changes, done=(done,))
            term.note_done(done)
            key.used = True
        try:
            term.put(changes)
        except StateLost:
            self._lose(term)
            raise
        self._purge(changes.purges)

    def _purge(self, purges: Iterable[Purging]) -> None:
        if self._start_purge is not None:
            for purging in purges:
                self.spawn(self._start_purge(purging))

    async def _log_failure(self, work: Awaitable[object]) -> None:
        clear_key()
        try:
            await work
        except (StateLost, Rebuilding, QueueFull, RunFault) as error:
            self._log.warning("fleet_work_dropped", why=repr(error))
        except Exception as error:  # noqa: BLE001 - nobody waits for it, so it is written down
            self._log.error("fleet_work_failed", error=repr(error), exc_info=error)

    def _lose(self, term: PrimaryTerm) -> None:
        if self._term is term:
            self._term = None
            self._begun.clear()
            for act in self._on_loss:
                act()
            self._log.warning("fleet_state_lost")
            self.spawn(self._rebuild())

    def _start(self, term: PrimaryTerm) -> None:
        self._term = term
        self._begun.set()

    async def _rebuild(self, held: LeaseHeld | None = None) -> None:
        """Try to begin a term until it succeeds, and stands by while another process is primary."""
        pause, primary = FIRST_PAUSE_SECONDS, ""
        while True:
            while self.clock.seconds() < self._held_back_until:  # noqa: ASYNC110 - it may be shortened
                await asyncio.sleep(HELD_BACK_LOOK_SECONDS)
            if held is not None:
                primary = await self._stand_by(held, primary)
            self._released.clear()
            try:
                term = await self._begin()
            except LeaseHeld as still_held:
                held = still_held
            except Exception as error:  # noqa: BLE001 - whatever it is, the next attempt may do
                held = None
                self._log.warning("fleet_not_rebuilt", why=repr(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            else:
                self._start(term)
                self._log.info("fleet_rebuilt", runs=len(term.working.runs()))
                return

    async def _stand_by(self, held: LeaseHeld, known: str) -> str:
        """Wait until the lease may be free, log a new primary once, and return the primary's
        name."""
        if held.holder != known:
            self._log.info("standing_by", primary=held.holder, address=held.address)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(LOOK_SECONDS, max(held.seconds, 0.0) + SLACK_SECONDS)):
                await self._released.wait()
        return held.holder

    async def _begin(self) -> PrimaryTerm:
        commits = await self._store.take()
        standing = None if self._find_standing is None else self._standing
        working = WorkingSet(self.engine_shares, self._renewed, standing)
        term, found = PrimaryTerm(working, commits, self._policy), await self.reads.snapshot()
        await self._learn_standing(each.user for each in found.played)
        await self._fill(term, found)
        for act in self._on_open:
            act(term)
        return term

    async def _fill(self, term: PrimaryTerm, found: Snapshot) -> None:
        working, now = term.working, self.clock.now()
        for run, tasks in found.runs:
            working.admit(run, tasks[:TASKS_AT_ONCE], now)
            for start in range(TASKS_AT_ONCE, len(tasks), TASKS_AT_ONCE):
                await asyncio.sleep(0)
                working.restore(tasks[start : start + TASKS_AT_ONCE], now)
            term.sampling.start(run)
            await asyncio.sleep(0)
        for each in found.played:
            working.players.add(each.run, each.machine, each.user, each.games)
        working.machines.blocks.update(found.blocks)
        for past in found.recalled:
            working.machines.restore(past.short_name, past.seen, past.last)
        working.last_seen.excuse_silence(now)
        for run in [run for run in working.runs().values() if run.decided]:
            self._put(term, finish_decided(working, run, now))
        term.scheduler.refresh_shares()
        self._purge(found.purging)


class KeyedLocks:
    """A lock per key: changes of the same thing wait for one another, others do not. A lock exists
    as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def __call__(self, key: str) -> AsyncIterator[None]:
        lock = self._locks.get(key)
        if lock is None:
            self._locks[key] = lock = asyncio.Lock()
        async with lock:
            yield
