"""The worker's life: asks for a task, plays it, and asks again until it is told to stop."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from msgspec import UNSET

from rookery.http_client import CallRefused, HeldCall, NoAnswer
from rookery.protocol.worker_answers import WAITING, House, TaskAnswer, VersionAnswer
from rookery.worker.assignment import Assignment, assignment_of
from rookery.worker.conversation import TaskName
from rookery.worker.kit import Kit, Outcome
from rookery.worker.preparing import Complaints, Preparation
from rookery.worker.stopping import (
    FIRST_SECONDS,
    IDLE_FIRST_SECONDS,
    IDLE_LONGEST_SECONDS,
    LONGEST_SECONDS,
    Backoff,
    Status,
    first_of,
)
from rookery.worker.task import Work
from rookery.worker.transport import CredentialsRefused, ForeignServer, TaskFailed

WAIT_SECONDS = 45.0
"""How long a server of ours may take to answer the request for a task."""
SHOWN_AFTER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Manner:
    """How long the worker stays, and with whom it works."""

    once: bool = False
    """One task, or the answer that there is none."""
    fleet: bool = False
    """Leave as soon as there is no work."""
    foreign: bool = False
    trial: bool = False
    """Leave before the first task: it is only to be seen whether the worker starts."""
    first_seconds: float = FIRST_SECONDS


Renew = Callable[[House], Awaitable[bool]]
"""Brings the worker up to what its server offers; whether it must start anew."""


class Life:
    """One worker with one server."""

    def __init__(
        self, kit: Kit, preparation: Preparation, manner: Manner, renew: Renew | None = None
    ) -> None:
        self._kit = kit
        self._preparation = preparation
        self._manner = manner
        self._renew = renew
        self.renewed = False
        """Whether it ended because a newer worker is to take its place."""
        self._waited = False
        """Whether the server has just held a request for as long as it may."""
        first = manner.first_seconds
        self._failures = Backoff(first, LONGEST_SECONDS, kit.chance)
        idle = min(first, IDLE_FIRST_SECONDS)
        self._idle = Backoff(idle, IDLE_LONGEST_SECONDS, kit.chance)

    async def run(self) -> Outcome:
        """Until stopped, or as long as the manner says; raises CredentialsRefused."""
        stop = self._kit.stop
        while True:
            outcome = await self._round()
            if self._is_last(outcome) or stop.asked.is_set():
                idle = outcome is Outcome.IDLE and stop.asked.is_set()
                return Outcome.STOPPED if idle else outcome
            if await stop.rest(self._wait(outcome)):
                return Outcome.STOPPED

    def _is_last(self, outcome: Outcome) -> bool:
        manner = self._manner
        if self.renewed or manner.once or manner.trial or outcome is Outcome.STOPPED:
            return True
        return self._manner.fleet and outcome is not Outcome.DONE

    def _wait(self, outcome: Outcome) -> float:
        if outcome is Outcome.DONE:
            self._failures.reset()
            self._idle.reset()
            return 0.0
        # Another project's server wants idle workers to hold back as much as failing ones.
        idle = outcome is Outcome.IDLE and self._kit.house
        if idle and self._waited:
            # The server kept us waiting, and we may ask again; just not all in one moment.
            return self._kit.chance()
        seconds = (self._idle if idle else self._failures).seconds()
        self._kit.watch.show(Status(f"{outcome.value}; asking again in {seconds:.0f} s"))
        return seconds

    async def _round(self) -> Outcome:
        try:
            await self._greet()
            if self.renewed or self._manner.trial:
                return Outcome.DONE
            task = await self._asked()
        except (NoAnswer, CallRefused) as error:
            self._kit.watch.say(str(error))
            return Outcome.SERVER_FAULT
        except TaskFailed as failed:
            self._kit.watch.say(failed.sentence)
            return Outcome.RUN_FAULT
        if task is None:
            return Outcome.IDLE
        self._kit.watch.say(f"{task.label}: {task.pairs * 2} games of run {task.name.run}")
        outcome = await Work(self._kit, self._preparation, task).run()
        self._kit.watch.say(f"{task.label}: {outcome.value}")
        return outcome

    async def _greet(self) -> None:
        """Learn whose server it is, and whether it has a newer worker for us."""
        kit = self._kit
        if not self._waited:
            kit.watch.show(Status("asking for work"))
        try:
            answer: VersionAnswer = await kit.threads.io(kit.talk.version)
        except CallRefused as refused:
            raise CredentialsRefused(kit.talk.transport.server, str(refused)) from None
        house = answer.rookery
        if house is UNSET:
            # A server of ours that is in trouble has only a word of excuse for us.
            if answer.info is not UNSET:
                raise NoAnswer(answer.info)
            if not self._manner.foreign:
                raise ForeignServer(kit.talk.transport.server)
        kit.identity.house = house is not UNSET
        kit.identity.features = frozenset() if house is UNSET else frozenset(house.features)
        if house is not UNSET and self._renew is not None and not self._manner.trial:
            self.renewed = await self._renew(house)

    async def _asked(self) -> Assignment | None:
        kit = self._kit
        answer = await self._answer()
        if answer is None:
            return None
        if answer.info is not UNSET and answer.task_waiting is not UNSET:
            kit.watch.show(Status(answer.info))
        try:
            return assignment_of(answer)
        except TaskFailed as failed:
            await self._returned(answer, failed)
            raise

    async def _answer(self) -> TaskAnswer | None:
        """To the request for a task; None where the owner wants to leave while it waits. A server
        of ours answers when it has one, or after a while."""
        kit, began = self._kit, monotonic()
        stays = not (self._manner.once or self._manner.fleet)
        held = HeldCall(WAIT_SECONDS) if stays and WAITING in kit.identity.features else None
        asking = asyncio.create_task(kit.threads.io(kit.talk.task, kit.identity.info, held))
        if held is not None:
            await first_of(asking, kit.stop.asked, seconds=SHOWN_AFTER_SECONDS)
            if not (asking.done() or kit.stop.asked.is_set()):
                kit.watch.show(Status("waiting for work"))
            await first_of(asking, kit.stop.asked)
            if not asking.done():
                await kit.threads.io(held.leave)
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
        """A task that makes no sense goes back at once."""
        kit = self._kit
        assert answer.run is not UNSET
        assert answer.task_id is not UNSET
        name = TaskName(answer.run.id, answer.task_id)
        complaints = Complaints(kit.talk, kit.identity, name, kit.threads, kit.watch)
        await complaints.tell(failed, kit.patience)
