"""The worker's main loop: asks for a task, plays it, and asks again until it is told to stop."""

import asyncio
import shutil
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic

from msgspec import UNSET

from rookery.core import __version__
from rookery.core.boundary.bridge import call_soon
from rookery.core.errors import Complaint
from rookery.core.http_client import HeldCall
from rookery.core.http_failures import CallRefused, NoAnswer
from rookery.core.model.task import Provenance
from rookery.core.protocol.worker_answers import (
    NOISE,
    WAITING,
    RookeryServer,
    TaskAnswer,
    VersionAnswer,
)
from rookery.match.job import MatchFault
from rookery.worker.assignment import Assignment, read_assignment
from rookery.worker.engines.orders import TaskFailed
from rookery.worker.matches import TaskMatches
from rookery.worker.preparing import EnginePreparation, PreparedEngines, RoundOutcome, WorkerContext
from rookery.worker.reporting import (
    ONCE,
    FailureReports,
    GameFile,
    Heartbeat,
    ReportQueue,
    RetryPolicy,
    retry_call,
)
from rookery.worker.server import TaskId, TaskProgress
from rookery.worker.stopping import (
    FIRST_SECONDS,
    IDLE_FIRST_SECONDS,
    IDLE_LONGEST_SECONDS,
    LONGEST_SECONDS,
    Backoff,
    WorkerStatus,
    cancel_and_wait,
    wait_for_first,
)

# One task, from the moment it is granted to its end.

NOISY = (
    "Other programs use this machine: the speeds of its slots differ by {:.0%}."
    " It leaves runs that need exact times to others for an hour."
)
STOPPED = "The worker was stopped by its owner; the rest of the games is returned."


class TaskSession:
    """One task, from the moment it is granted to its end; used once."""

    def __init__(
        self, context: WorkerContext, preparation: EnginePreparation, task: Assignment
    ) -> None:
        self._context = context
        self._preparation = preparation
        self._task = task
        self._loop = asyncio.get_running_loop()
        self._lost = asyncio.Event()
        self._notes: set[asyncio.Task[None]] = set()
        self._games = GameFile(context.scratch / "games.pgn", task, context.server.transport.server)
        self._failures = FailureReports(
            context.server, context.identity, task.name, context.threads, context.watch
        )
        self._heartbeat = Heartbeat(self._beat, self._lose, period=context.beat_seconds)

    async def run(self) -> RoundOutcome:
        """Play the task, report it, and say how it ended."""
        with self._heartbeat:
            try:
                outcome = await self._played()
            except TaskFailed as failed:
                outcome = await self._gave_up(failed)
            except MatchFault as fault:
                outcome = await self._gave_up(TaskFailed(str(fault), blame="run"))
            except Exception as error:  # noqa: BLE001 - told to the server, and the worker goes on
                text = "".join(traceback.format_exception(error))
                sentence = f"The worker failed: {type(error).__name__}: {error}"
                outcome = await self._gave_up(TaskFailed(sentence, text))
        if not self._context.stop.at_once.is_set():
            await self._last_words()
        return outcome

    async def _played(self) -> RoundOutcome:
        context = self._context
        await context.threads.io(_emptied, context.scratch)
        prepared = await self._prepared()
        if prepared is None:
            return await self._left()
        send = partial(self._send, prepared)
        reports = ReportQueue(send, context.patience, context.threads, context.watch)
        carrying = asyncio.create_task(reports.run())
        carrying.add_done_callback(lambda _: self._lost.set())
        try:
            rounds = TaskMatches(
                context, self._task, prepared, reports, self._games, self._lost, self._note
            )
            wanted = await rounds.play()
            reports.close()
            outcome = await self._delivered(carrying) if wanted else RoundOutcome.DONE
            if context.in_parts and carrying.done() and not context.stop.at_once.is_set():
                await reports.send_last()
            return outcome
        finally:
            await cancel_and_wait(carrying)

    async def _prepared(self) -> PreparedEngines | None:
        """Both engines; None if the task or the worker was ended meanwhile."""
        context = self._context
        context.watch.show(WorkerStatus("making the engines", self._task.label))
        slots = max(1, context.identity.offer.concurrency // self._task.threads)
        making = asyncio.create_task(self._preparation.prepare(self._task, slots))
        try:
            await wait_for_first(making, self._lost, context.stop.asked)
            if not making.done():
                return None
            prepared = await making
        finally:
            await cancel_and_wait(making)
        context.identity.nps = prepared.nps
        self._refuse_noise(prepared)
        return prepared

    def _refuse_noise(self, prepared: PreparedEngines) -> None:
        """Give a run that needs exact times back if the machine turns out to be noisy; the server
        then gives it others."""
        identity, exact = self._context.identity, self._task.plan.is_timed
        if prepared.noisy:
            identity.disturbed = monotonic()
        if prepared.noisy and identity.noisy and exact and NOISE in identity.features:
            raise TaskFailed(NOISY.format(prepared.spread))

    async def _delivered(self, carrying: "asyncio.Task[bool]") -> RoundOutcome:
        """Wait for the last report; if asked to stop, no longer than the grace period."""
        stop = self._context.stop
        await wait_for_first(carrying, stop.asked)
        if not carrying.done():
            await wait_for_first(carrying, stop.at_once, seconds=stop.grace_seconds)
        if not carrying.done() or (await carrying and stop.asked.is_set()):
            return await self._left()
        if await carrying and not self._heartbeat.stopped:
            raise TaskFailed("The task has games left that were not requested.")
        return RoundOutcome.DONE

    async def _left(self) -> RoundOutcome:
        """End the task early, because the owner stops the worker or the server wants no more."""
        stop = self._context.stop
        if not stop.asked.is_set():
            return RoundOutcome.DONE
        if not stop.at_once.is_set():
            await self._failures.tell(TaskFailed(STOPPED), ONCE)
        return RoundOutcome.STOPPED

    async def _gave_up(self, failed: TaskFailed) -> RoundOutcome:
        self._context.watch.say(failed.sentence)
        # By now the server was tried for long enough, if it can't be reached.
        patience = replace(self._context.patience, attempts=RetryPolicy().attempts)
        await self._failures.tell(failed, patience)
        return RoundOutcome.RUN_FAULT if failed.blame == "run" else RoundOutcome.MACHINE_FAULT

    async def _last_words(self) -> None:
        """Send the games, except for a tune, after the messages under way."""
        context = self._context
        await asyncio.gather(*self._notes, return_exceptions=True)
        packed = None if self._task.is_tune else await context.threads.cpu(self._games.packed)
        if packed is None:
            return
        context.watch.show(WorkerStatus("sending the games", self._task.label))
        upload = partial(context.server.upload_pgn, context.identity.info, self._task.name, packed)
        try:
            await retry_call(
                upload,
                ONCE if context.stop.asked.is_set() else context.patience,
                context.threads,
                context.watch,
            )
        except (CallRefused, NoAnswer) as error:
            context.watch.say(f"The games could not be sent: {error}")

    def _provenance(self, prepared: PreparedEngines) -> Provenance | None:
        if not self._context.is_rookery:
            return None
        return Provenance(
            runner=self._context.identity.runner,
            version=__version__,
            new_hash=prepared.new_digest,
            base_hash=prepared.base_digest,
            factor=prepared.factor,
            latency_ms=self._context.identity.latency_ms,
        )

    def _send(self, prepared: PreparedEngines, told: TaskProgress) -> bool:
        """Send a report. Called in a thread."""
        provenance = self._provenance(prepared)
        whole = told if provenance is None else told.by(provenance)
        answer = self._context.server.update(self._context.identity.info, self._task.name, whole)
        self._heartbeat.heard()
        return answer.task_alive

    def _beat(self) -> bool:
        """Send a heartbeat. Called in the heartbeat's thread."""
        return self._context.server.beat(self._context.identity.info, self._task.name).task_alive

    def _lose(self) -> None:
        """Note that the server wants no more of this task. Called in the heartbeat's thread."""
        call_soon(self._loop, self._lost.set)

    def _note(self, text: str) -> None:
        self._context.watch.say(text.splitlines()[0])
        note = asyncio.create_task(self._told(text))
        self._notes.add(note)
        note.add_done_callback(self._notes.discard)

    async def _told(self, text: str) -> None:
        context = self._context
        try:
            await context.threads.io(
                context.server.log, context.identity.info, self._task.name, text
            )
        except (CallRefused, NoAnswer) as error:
            context.watch.say(f"The report to the server failed: {error}")


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)


# The worker's main loop: asks for a task, plays it, and asks again until it is told to stop.

WAIT_SECONDS = 45.0
"""How long a Rookery server may hold the request for a task."""
SHOWN_AFTER_SECONDS = 1.0
UNANSWERED_AT_MOST = 6
"""After this many rounds without an answer, in about eight minutes, a fleet's worker gives up."""


FOREIGN = "{server} is not a Rookery server; --foreign-server plays for it with fastchess."


class WrongServer(Complaint):
    """A server that refuses the worker's user, or that is not a Rookery server."""

    exit_code = 5


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How long the worker runs, and with which servers."""

    once: bool = False
    """End after one task, or after the answer that there is none."""
    fleet: bool = False
    """End as soon as there is no work, or if the server stays away."""
    foreign: bool = False
    trial: bool = False
    """End before the first task, to test only whether the worker starts."""
    first_seconds: float = FIRST_SECONDS


Renew = Callable[[RookeryServer], Awaitable[bool]]
"""Updates the worker to the version that its server offers. Returns whether to restart it."""


class WorkerSession:
    """The session of one worker with one server."""

    def __init__(
        self,
        context: WorkerContext,
        preparation: EnginePreparation,
        options: SessionOptions,
        renew: Renew | None = None,
    ) -> None:
        self._context = context
        self._preparation = preparation
        self._options = options
        self._renew = renew
        self.renewed = False
        """Whether the session ended because a newer worker takes over."""
        self._waited = False
        """Whether the server has just held a request for its full time."""
        self._unanswered = 0
        """How many rounds in a row failed by the server's fault."""
        first = options.first_seconds
        self._failures = Backoff(first, LONGEST_SECONDS, context.chance)
        idle = min(first, IDLE_FIRST_SECONDS)
        self._idle = Backoff(idle, IDLE_LONGEST_SECONDS, context.chance)

    async def run(self) -> RoundOutcome:
        """Work until stopped, or as long as the options say. Raises WrongServer."""
        stop = self._context.stop
        while True:
            outcome = await self._round()
            unanswered = outcome is RoundOutcome.SERVER_FAULT
            self._unanswered = self._unanswered + 1 if unanswered else 0
            if self._is_last(outcome) or stop.asked.is_set():
                idle = outcome is RoundOutcome.IDLE and stop.asked.is_set()
                return RoundOutcome.STOPPED if idle else outcome
            if await stop.rest(self._wait(outcome)):
                return RoundOutcome.STOPPED

    def _is_last(self, outcome: RoundOutcome) -> bool:
        options = self._options
        if self.renewed or options.once or options.trial or outcome is RoundOutcome.STOPPED:
            return True
        gone = self._unanswered >= UNANSWERED_AT_MOST
        return options.fleet and (outcome is RoundOutcome.IDLE or gone)

    def _wait(self, outcome: RoundOutcome) -> float:
        if outcome is RoundOutcome.DONE:
            self._failures.reset()
            self._idle.reset()
            return 0.0
        # Another project's server expects idle workers to wait as long as failing ones.
        idle = outcome is RoundOutcome.IDLE and self._context.is_rookery
        if idle and self._waited:
            # The server held the request: ask again, but not at the same moment as all others.
            return self._context.chance()
        seconds = (self._idle if idle else self._failures).seconds()
        self._context.watch.show(WorkerStatus(f"{outcome.value}; asking again in {seconds:.0f} s"))
        return seconds

    async def _round(self) -> RoundOutcome:
        try:
            await self._greet()
            if self.renewed or self._options.trial:
                return RoundOutcome.DONE
            task = await self._asked()
        except (NoAnswer, CallRefused) as error:
            self._context.watch.say(str(error))
            return RoundOutcome.SERVER_FAULT
        except TaskFailed as failed:
            self._context.watch.say(failed.sentence)
            return RoundOutcome.RUN_FAULT
        if task is None:
            return RoundOutcome.IDLE
        self._context.watch.say(f"{task.label}: {task.pairs * 2} games of run {task.name.run}")
        outcome = await TaskSession(self._context, self._preparation, task).run()
        self._context.watch.say(f"{task.label}: {outcome.value}")
        return outcome

    async def _greet(self) -> None:
        """Learn what kind of server it is, and update the worker if the server has a newer one."""
        context, server = self._context, self._context.server.transport.server
        if not self._waited:
            context.watch.show(WorkerStatus("asking for work"))
        try:
            answer: VersionAnswer = await context.threads.io(context.server.version)
        except CallRefused as refused:
            sentence = f"{server} refused the user name or the password: {refused}"
            raise WrongServer(sentence) from None
        rookery = answer.rookery
        if rookery is UNSET:
            # A Rookery server in trouble sends only an explanation.
            if answer.info is not UNSET:
                raise NoAnswer(answer.info)
            if not self._options.foreign:
                raise WrongServer(FOREIGN.format(server=server))
        context.identity.is_rookery = rookery is not UNSET
        context.identity.features = frozenset() if rookery is UNSET else frozenset(rookery.features)
        if rookery is not UNSET and self._renew is not None and not self._options.trial:
            self.renewed = await self._renew(rookery)

    async def _asked(self) -> Assignment | None:
        context = self._context
        answer = await self._answer()
        if answer is None:
            return None
        if answer.info is not UNSET and answer.task_waiting is not UNSET:
            context.watch.show(WorkerStatus(answer.info))
        try:
            return read_assignment(answer)
        except TaskFailed as failed:
            await self._returned(answer, failed)
            raise

    async def _answer(self) -> TaskAnswer | None:
        """Return the answer to the request for a task; None if the owner stops the worker
        meanwhile. A Rookery server answers when it has a task, or after a while."""
        context, began = self._context, monotonic()
        stays = not (self._options.once or self._options.fleet)
        held = HeldCall(WAIT_SECONDS) if stays and WAITING in context.identity.features else None
        asking = asyncio.create_task(
            context.threads.io(context.server.task, context.identity.info, held)
        )
        if held is not None:
            await wait_for_first(asking, context.stop.asked, seconds=SHOWN_AFTER_SECONDS)
            if not (asking.done() or context.stop.asked.is_set()):
                context.watch.show(WorkerStatus("waiting for work"))
            await wait_for_first(asking, context.stop.asked)
            if not asking.done():
                await context.threads.io(held.leave)
        try:
            answer = await asking
        except NoAnswer:
            if held is not None and held.left:
                return None
            raise
        nothing = held is not None and answer.task_waiting is not UNSET
        self._waited = nothing and monotonic() - began > WAIT_SECONDS / 2
        return answer

    async def _returned(self, answer: TaskAnswer, failed: TaskFailed) -> None:
        """Give back a task that can't be read."""
        context = self._context
        assert answer.run is not UNSET
        assert answer.task_id is not UNSET
        name = TaskId(answer.run.id, answer.task_id)
        failures = FailureReports(
            context.server, context.identity, name, context.threads, context.watch
        )
        await failures.tell(failed, context.patience)
