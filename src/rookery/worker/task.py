"""One task, from the moment it is granted to its end."""

import asyncio
import shutil
import traceback
from dataclasses import replace
from functools import partial
from pathlib import Path

from rookery import __version__
from rookery.boundary.bridge import call_soon
from rookery.http_client import CallRefused, NoAnswer
from rookery.match.job import MatchFault
from rookery.protocol.worker_requests import Provenance
from rookery.worker.assignment import Assignment
from rookery.worker.conversation import Progress
from rookery.worker.kit import Kit, Outcome
from rookery.worker.preparing import Complaints, Preparation, Prepared
from rookery.worker.reporting import ONCE, Courier, GameFile, Heart, Patience, insist
from rookery.worker.rounds import Rounds
from rookery.worker.stopping import Status, ended, first_of
from rookery.worker.transport import TaskFailed

STOPPED = "The worker was stopped by its owner; the rest of the games is given back."


class Work:
    """Mutable while it lasts; used for one task."""

    def __init__(self, kit: Kit, preparation: Preparation, task: Assignment) -> None:
        self._kit = kit
        self._preparation = preparation
        self._task = task
        self._loop = asyncio.get_running_loop()
        self._lost = asyncio.Event()
        self._notes: set[asyncio.Task[None]] = set()
        self._games = GameFile(kit.scratch / "games.pgn", task, kit.talk.transport.server)
        self._complaints = Complaints(kit.talk, kit.identity, task.name, kit.threads, kit.watch)
        self._heart = Heart(self._beat, self._lose, period=kit.beat_seconds)

    async def run(self) -> Outcome:
        """Play the task, report it, and say how it ended."""
        with self._heart:
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
        if not self._kit.stop.at_once.is_set():
            await self._last_words()
        return outcome

    async def _played(self) -> Outcome:
        kit = self._kit
        await kit.threads.io(_emptied, kit.scratch)
        prepared = await self._prepared()
        if prepared is None:
            return await self._left()
        send = partial(self._send, prepared)
        courier = Courier(send, kit.patience, kit.threads, kit.watch)
        carrying = asyncio.create_task(courier.run())
        carrying.add_done_callback(lambda _: self._lost.set())
        try:
            rounds = Rounds(kit, self._task, prepared, courier, self._games, self._lost, self._note)
            wanted = await rounds.play()
            courier.close()
            outcome = await self._delivered(carrying) if wanted else Outcome.DONE
            if kit.in_parts and carrying.done() and not kit.stop.at_once.is_set():
                await courier.send_last()
            return outcome
        finally:
            await ended(carrying)

    async def _prepared(self) -> Prepared | None:
        """Both engines, or None when the task or the worker ended meanwhile."""
        kit = self._kit
        kit.watch.show(Status("making the engines", self._task.label))
        slots = max(1, kit.identity.offer.concurrency // self._task.threads)
        making = asyncio.create_task(self._preparation.prepare(self._task, slots))
        try:
            await first_of(making, self._lost, kit.stop.asked)
            if not making.done():
                return None
            prepared = await making
        finally:
            await ended(making)
        kit.identity.nps = prepared.nps
        kit.identity.noisy = prepared.noisy
        return prepared

    async def _delivered(self, carrying: "asyncio.Task[bool]") -> Outcome:
        """Wait for the last report; an owner in a hurry waits no longer than the grace."""
        stop = self._kit.stop
        await first_of(carrying, stop.asked)
        if not carrying.done():
            await first_of(carrying, stop.at_once, seconds=stop.grace_seconds)
        if not carrying.done() or (await carrying and stop.asked.is_set()):
            return await self._left()
        if await carrying and not self._heart.stopped:
            raise TaskFailed("The task has games left that nobody asked for.")
        return Outcome.DONE

    async def _left(self) -> Outcome:
        """The owner wants to go, or the server wants no more."""
        stop = self._kit.stop
        if not stop.asked.is_set():
            return Outcome.DONE
        if not stop.at_once.is_set():
            await self._complaints.tell(TaskFailed(STOPPED), ONCE)
        return Outcome.STOPPED

    async def _gave_up(self, failed: TaskFailed) -> Outcome:
        self._kit.watch.say(failed.sentence)
        # A server that can't be reached has been tried long enough by then.
        patience = replace(self._kit.patience, attempts=Patience().attempts)
        await self._complaints.tell(failed, patience)
        return Outcome.RUN_FAULT if failed.blame == "run" else Outcome.MACHINE_FAULT

    async def _last_words(self) -> None:
        """The games, which a tune does not keep, and what was still being told."""
        kit = self._kit
        await asyncio.gather(*self._notes, return_exceptions=True)
        packed = None if self._task.is_tune else await kit.threads.cpu(self._games.packed)
        if packed is None:
            return
        kit.watch.show(Status("sending the games", self._task.label))
        upload = partial(kit.talk.upload_pgn, kit.identity.info, self._task.name, packed)
        try:
            await insist(
                upload, ONCE if kit.stop.asked.is_set() else kit.patience, kit.threads, kit.watch
            )
        except (CallRefused, NoAnswer) as error:
            kit.watch.say(f"The games could not be sent: {error}")

    def _provenance(self, prepared: Prepared) -> Provenance | None:
        if not self._kit.house:
            return None
        return Provenance(
            runner=self._kit.identity.runner,
            runner_version=__version__,
            new_hash=prepared.new_digest,
            base_hash=prepared.base_digest,
            factor=prepared.factor,
            latency_ms=self._kit.identity.latency_ms,
        )

    def _send(self, prepared: Prepared, told: Progress) -> bool:
        """In a thread."""
        provenance = self._provenance(prepared)
        whole = told if provenance is None else told.by(provenance)
        answer = self._kit.talk.update(self._kit.identity.info, self._task.name, whole)
        self._heart.heard()
        return answer.task_alive

    def _beat(self) -> bool:
        """In the heart's thread."""
        return self._kit.talk.beat(self._kit.identity.info, self._task.name).task_alive

    def _lose(self) -> None:
        """In the heart's thread: the server wants no more of this task."""
        call_soon(self._loop, self._lost.set)

    def _note(self, text: str) -> None:
        self._kit.watch.say(text.splitlines()[0])
        note = asyncio.create_task(self._told(text))
        self._notes.add(note)
        note.add_done_callback(self._notes.discard)

    async def _told(self, text: str) -> None:
        kit = self._kit
        try:
            await kit.threads.io(kit.talk.log, kit.identity.info, self._task.name, text)
        except (CallRefused, NoAnswer) as error:
            kit.watch.say(f"The server could not be told: {error}")


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
