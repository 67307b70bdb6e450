"""The nine calls of workers, one class each: `BeatCall` answers /api/beat, and so on.

A call translates the request, asks the fleet (`farm/fleet.py`) and translates its answer; the
rules themselves are in `rookery.server.farm.rules`.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import UNSET
from starlette.routing import Route
from starlette.types import Receive

from rookery.core import __version__
from rookery.core.boundary.errors import GateFull
from rookery.core.model.kinds import Report
from rookery.core.protocol import worker_requests
from rookery.core.protocol.worker_answers import (
    NOISE,
    OFFICIAL_VERSION,
    PARTS,
    WAITING,
    EndAnswer,
    RookeryServer,
    VersionAnswer,
    WorkerAnswer,
    make_waiting_answer,
    refuse_task,
    refuse_update,
)
from rookery.core.protocol.worker_heads import begin_long_text
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.commits import QueueFull
from rookery.server.farm.rules.answers import (
    DONE,
    OVER,
    Grant,
    HeldTask,
    NoTask,
    Refusal,
    StopAnswer,
)
from rookery.server.http.bodies import cancel_on_leave
from rookery.server.http.waiting import left_to_wait
from rookery.server.identity.login import LoginRefused
from rookery.server.identity.worker_credentials import VerifiedUser
from rookery.server.identity.worker_tokens import is_worker_token
from rookery.server.worker_api import incoming, outgoing
from rookery.server.worker_api.call import (
    ArrivedCall,
    NotAllowed,
    PartialBody,
    PendingAnswer,
    WorkerCall,
    read_rest,
)
from rookery.server.worker_api.incoming import MachineCache, VerifiedCaller
from rookery.server.worker_api.outgoing import Payloads

if TYPE_CHECKING:
    from rookery.server.app.site import Site

# The subject of a worker's complaint, without the words that differ between hosts.

# The file's name contains the compiler and the processor; only the commit and the two counts
# matter.
_WRONG_BENCH = re.compile(
    r"Wrong bench in stockfish-([0-9a-f]{7,40})\S*, user expected: (\d+) but worker got: (\d+)"
)


def normalize_complaint(message: str, bench: int = 0) -> str:
    """A worker's message without the parts that differ between hosts, so that equal findings
    compare equal. `bench` is the count that Rookery's own worker sends beside its message."""
    if found := _WRONG_BENCH.search(message):
        return f"wrong bench of {found[1]}: {found[3]}, not {found[2]}"
    return f"wrong bench: {bench}" if bench else message


FEATURES = ("abilities", "provenance", "make_spsa_slots", "failure_logs", PARTS, WAITING, NOISE)
BUSY = make_waiting_answer("the server is busy; try again later")
_NOT_STOPPED = {
    StopAnswer.FINISHED: "the run is finished already",
    StopAnswer.NOT_TRUSTED: "noted; a run is stopped when machines of others find the same",
}


@runs(
    Domain.LOOP, "credentials from memory; unknown ones are hashed in a thread", needs_primary=True
)
class RequestVersionCall(WorkerCall[worker_requests.Credentials]):
    """Answers which worker version is current. An official worker exits on any `error` here, so
    only wrong credentials are answered by one."""

    path: ClassVar[str] = "/api/request_version"
    at_once: ClassVar[bool] = True
    reader = worker_requests.REQUEST_VERSION

    def __init__(self, site: "Site", machines: MachineCache, payloads: Payloads) -> None:
        super().__init__(site, machines, payloads)
        wheel = site.wheel
        ours = RookeryServer(__version__, FEATURES, wheel.name, wheel.sha256, wheel.signature)
        self.greeting = VersionAnswer(version=OFFICIAL_VERSION, rookery=ours)

    async def act(
        self, request: worker_requests.Credentials, caller: VerifiedCaller
    ) -> WorkerAnswer:
        del request, caller
        return self.greeting

    def act_at_once(
        self, request: worker_requests.Credentials, caller: VerifiedCaller
    ) -> PendingAnswer | None:
        del request, caller
        return self.greeting, None

    def refusal_answer(self, error: Exception, why: str) -> WorkerAnswer:
        if isinstance(error, LoginRefused):
            return VersionAnswer(error=why)
        return VersionAnswer(version=OFFICIAL_VERSION, info=why)


@runs(
    Domain.LOOP_CPU,
    "chooses from an index in memory; waits for the commit, ours for work",
    needs_primary=True,
)
class RequestTaskCall(WorkerCall[worker_requests.RequestTask]):
    """Answers with a task, or why there is none. Our own worker may ask to wait for one. Only a few
    requests at a time may hash a password."""

    path: ClassVar[str] = "/api/request_task"
    at_once: ClassVar[bool] = True
    reader = worker_requests.REQUEST_TASK

    async def handle(self, call: ArrivedCall[worker_requests.RequestTask]) -> WorkerAnswer:
        try:
            request, caller = await self.read_request(call)
            wish = _wished_wait(request)
            if not wish:
                return await self.act(request, caller)
            info, began = call.info, self.site.clock.seconds()
            left = left_to_wait(wish, info.waited)
            try:
                return await self._wait_for_task(request, caller, left, call.receive)
            finally:
                info.add_wait(self.site.clock.seconds() - began)
        except (QueueFull, GateFull):
            return BUSY

    async def verify_unknown(self, name: str, password: str, client: str) -> VerifiedUser:
        # Who was verified before, or sends a token, needs no place: only rows are read.
        if known := await self.site.credentials.reread(name, password):
            return known
        if is_worker_token(password):
            return await super().verify_unknown(name, password, client)
        with self.site.task_gate.enter():
            return await super().verify_unknown(name, password, client)

    async def act(
        self, request: worker_requests.RequestTask, caller: VerifiedCaller
    ) -> WorkerAnswer:
        machine = self.machines.machine(request.worker_info, caller)
        limit = caller.machine_limit
        answer = await self.site.fleet.request_task(machine, limit=limit)
        return outgoing.task_answer(answer, self.payloads, caller.server)

    def act_at_once(
        self, request: worker_requests.RequestTask, caller: VerifiedCaller
    ) -> PendingAnswer | None:
        machine = self.machines.machine(request.worker_info, caller)
        answer, committed = self.site.fleet.request_at_once(machine, caller.machine_limit)
        if isinstance(answer, NoTask) and _wished_wait(request):
            return None
        return outgoing.task_answer(answer, self.payloads, caller.server), committed

    async def _wait_for_task(
        self,
        request: worker_requests.RequestTask,
        caller: VerifiedCaller,
        seconds: float,
        receive: Receive,
    ) -> WorkerAnswer:
        """Wait until there is a task, the time is up, the worker leaves or the server stops."""
        machine = self.machines.machine(request.worker_info, caller)
        answer: Grant | NoTask | Refusal = NoTask()
        with self.site.streams.join() as held:
            leaving = asyncio.ensure_future(cancel_on_leave(receive, held))
            try:
                answer = await self.site.waiting_line.task_for(
                    machine, limit=caller.machine_limit, seconds=seconds
                )
            finally:
                leaving.cancel()
        return outgoing.task_answer(answer, self.payloads, caller.server)

    def refusal_answer(self, error: Exception, why: str) -> WorkerAnswer:
        return refuse_task(why)


@runs(Domain.LOOP_CPU, "folds the results into memory; waits for the commit", needs_primary=True)
class UpdateTaskCall(WorkerCall[worker_requests.UpdateTask]):
    """Accepts the results of a task so far, and answers whether to play on."""

    path: ClassVar[str] = "/api/update_task"
    at_once: ClassVar[bool] = True
    reader = worker_requests.UPDATE_TASK

    async def act(
        self, request: worker_requests.UpdateTask, caller: VerifiedCaller
    ) -> WorkerAnswer:
        call, report = await self.held_task(request, caller), incoming.report_of(request)
        answer = await self.site.fleet.update_task(call, report)
        self._note_speed(call, report)
        if answer is OVER and (games := await self.site.late_games.credit(call, report)):
            answer = replace(OVER, info=f"the run is over; {games} late games count as played")
        return outgoing.task_alive_answer(answer)

    def act_at_once(
        self, request: worker_requests.UpdateTask, caller: VerifiedCaller
    ) -> PendingAnswer | None:
        machine = self.machines.machine(request.worker_info, caller)
        call = HeldTask(request.run_id, request.task_id, machine)
        report = incoming.report_of(request)
        verdict, committed = self.site.fleet.update_at_once(call, report)
        if verdict is OVER:
            return None  # nothing was changed; perhaps there are late games to credit
        self._note_speed(call, report)
        return outgoing.task_alive_answer(verdict), committed

    def _note_speed(self, call: HeldTask, report: Report) -> None:
        """Record how fast a machine is that says how it plays."""
        if report.provenance and (run := self.site.fleet.views.present(call.run)):
            self.site.speeds.note(run.plan, call.machine)

    def refusal_answer(self, error: Exception, why: str) -> WorkerAnswer:
        return refuse_update(why)


@runs(
    Domain.LOOP,
    "notes a time in memory; a living task's answer waits for nothing",
    needs_primary=True,
)
class BeatCall(WorkerCall[worker_requests.TaskCall]):
    """Notes a sign of life of a task, and answers whether the task is still active."""

    path: ClassVar[str] = "/api/beat"
    at_once: ClassVar[bool] = True
    reader = worker_requests.BEAT

    async def act(self, request: worker_requests.TaskCall, caller: VerifiedCaller) -> WorkerAnswer:
        call = await self.held_task(request, caller)
        return outgoing.task_alive_answer(await self.site.fleet.beat(call))

    def act_at_once(
        self, request: worker_requests.TaskCall, caller: VerifiedCaller
    ) -> PendingAnswer | None:
        del caller
        key, info = (request.run_id, request.task_id), request.worker_info
        if not self.site.fleet.beat_at_once(key, info.key, info.user):
            return None
        return outgoing.ALIVE, None


@runs(Domain.LOOP_CPU, "draws values for a batch; waits for the commit", needs_primary=True)
class RequestSpsaCall(WorkerCall[worker_requests.RequestSpsa]):
    """Answers with the parameter values for the next batch of a tune."""

    path: ClassVar[str] = "/api/request_spsa"
    reader = worker_requests.REQUEST_SPSA

    async def act(
        self, request: worker_requests.RequestSpsa, caller: VerifiedCaller
    ) -> WorkerAnswer:
        call = await self.held_task(request, caller)
        slots = 0 if request.rookery is UNSET else request.rookery.slots
        return outgoing.spsa_answer(await self.site.fleet.request_spsa(call, slots=slots))


@runs(Domain.LOOP, "ends a task in memory; waits for the commit", needs_primary=True)
class FailedTaskCall(WorkerCall[worker_requests.FailedTask]):
    """Ends a task that its worker could not play, and stores the worker's log."""

    path: ClassVar[str] = "/api/failed_task"
    reader = worker_requests.FAILED_TASK

    async def act(
        self, request: worker_requests.FailedTask, caller: VerifiedCaller
    ) -> WorkerAnswer:
        call = await self.held_task(request, caller)
        hopeless = request.rookery is not UNSET and request.rookery.blame == "run"
        weight = await self.site.trusts(caller.user) if hopeless else None
        answer = await self.site.fleet.fail_task(call, request.message, weight)
        if answer is DONE:
            await self.site.logs.store(call, "failed_task", incoming.log_of(request.rookery))
        return outgoing.end_answer(answer)


@runs(Domain.LOOP_CPU, "ends a run or a task in memory; waits for the commit", needs_primary=True)
class StopRunCall(WorkerCall[worker_requests.FailedTask]):
    """Stops a run that a worker found to be broken, if the worker's owner is trusted."""

    path: ClassVar[str] = "/api/stop_run"
    reader = worker_requests.STOP_RUN

    async def act(
        self, request: worker_requests.FailedTask, caller: VerifiedCaller
    ) -> WorkerAnswer:
        call = await self.held_task(request, caller)
        bench = 0 if request.rookery is UNSET else request.rookery.bench
        log = incoming.log_of(request.rookery)
        if log and (await self.site.fleet.views.own_task(call)).active:
            await self.site.logs.store(call, "stop_run", log)
        answer = await self.site.fleet.stop_run(
            call,
            request.message,
            weight=await self.site.trusts(caller.user),
            complaint=normalize_complaint(request.message, bench),
        )
        if answer is not StopAnswer.STOPPED:
            raise NotAllowed(_NOT_STOPPED[answer])
        return EndAnswer()


@runs(Domain.THREAD, "decodes and stores games in threads, as they come")
class UploadPgnCall(WorkerCall[worker_requests.UploadPgn]):
    """Stores the games of a task."""

    path: ClassVar[str] = "/api/upload_pgn"
    reader = worker_requests.UPLOAD_PGN

    async def act(self, request: worker_requests.UploadPgn, caller: VerifiedCaller) -> WorkerAnswer:
        task = await self.site.fleet.views.own_task(await self.held_task(request, caller))
        await self.site.games.upload(task, request.pgn)
        return EndAnswer()

    async def handle_large_body(
        self, call: ArrivedCall[worker_requests.UploadPgn], body: PartialBody
    ) -> WorkerAnswer:
        """Decode and store games piece by piece: a large upload is never whole in memory."""
        text, first = begin_long_text(body.head, "pgn", worker_requests.LARGEST_PGN)
        pieces = _prepend(first, read_rest(body, call.receive))
        async with self.site.games.receive(pieces, text) as draft:
            request, caller = await self.decode_request(call, text.envelope())
            task = await self.site.fleet.views.own_task(await self.held_task(request, caller))
            await self.site.games.keep_received(task, draft, text.size)
        return EndAnswer()


@runs(Domain.LOOP, "writes a line of the log; waits for the commit", needs_primary=True)
class WorkerLogCall(WorkerCall[worker_requests.WorkerLog]):
    """Writes a worker's message into the log of actions."""

    path: ClassVar[str] = "/api/worker_log"
    reader = worker_requests.WORKER_LOG

    async def act(self, request: worker_requests.WorkerLog, caller: VerifiedCaller) -> WorkerAnswer:
        machine = self.machines.machine(request.worker_info, caller)
        call = None
        if request.run_id is not UNSET and request.task_id is not UNSET:
            call = HeldTask(request.run_id, request.task_id, machine)
            await self.check_sight(call, caller)
        await self.site.fleet.log_message(machine, request.message, call)
        if call is not None:
            await self.site.logs.store(call, "worker_log", incoming.log_of(request.rookery))
        return EndAnswer()


def _wished_wait(request: worker_requests.RequestTask) -> float:
    """How many seconds a worker of ours would wait for a task."""
    return 0.0 if request.rookery is UNSET else request.rookery.wait


async def _prepend(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


CALLS: tuple[type[WorkerCall[Any]], ...] = (
    RequestVersionCall,
    RequestTaskCall,
    UpdateTaskCall,
    BeatCall,
    RequestSpsaCall,
    FailedTaskCall,
    StopRunCall,
    UploadPgnCall,
    WorkerLogCall,
)


def worker_routes(site: "Site") -> list[Route]:
    """The routes of the nine calls, on one site."""
    machines = MachineCache(mind_quota=site.settings.mind_github_quota)
    # After a loss the working set has machines of its own, and both would be kept.
    site.fleet.primary.on_loss(machines.forget_all)
    payloads = Payloads(site.engines.record_for_worker)
    endpoints = [call(site, machines, payloads) for call in CALLS]
    return [Route(call.path, call, methods=["POST"]) for call in endpoints]
