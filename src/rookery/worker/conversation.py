"""The calls of a worker, typed; each blocks until it is answered and belongs into a thread."""

from dataclasses import dataclass
from typing import TypeVar

from msgspec import UNSET, UnsetType

from rookery.http_client import CallRefused, HeldCall, NoAnswer
from rookery.model.task import Results
from rookery.protocol import worker_answers, worker_requests
from rookery.protocol.codec import Reader, WireFault, encode
from rookery.protocol.worker_answers import Answer
from rookery.protocol.worker_requests import WorkerInfo
from rookery.worker.transport import Transport

A = TypeVar("A", bound=Answer)


class SpsaCall(worker_requests.RequestSpsa, frozen=True, gc=False, kw_only=True):
    """request_spsa as the official worker sends it: with the results so far."""

    stats: Results
    spsa: worker_requests.SlotResult | UnsetType = UNSET


class UpdateCall(worker_requests.TaskCall, frozen=True, gc=False, kw_only=True):
    """update_task; a batch of a tune has parts only where the server is one of ours."""

    stats: Results
    spsa: worker_requests.SlotResult | UnsetType = UNSET
    rookery: worker_requests.Provenance | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class Account:
    """Whose worker it is; a worker token stands where the password goes."""

    username: str
    password: str


@dataclass(frozen=True, slots=True)
class TaskName:
    """Which task a call is about."""

    run: str
    task: int


@dataclass(frozen=True, slots=True)
class Progress:
    """What an update tells: all results of the task, and what came with the last batch."""

    stats: Results
    spsa: worker_requests.SlotResult | UnsetType = UNSET
    provenance: worker_requests.Provenance | UnsetType = UNSET

    def by(self, provenance: worker_requests.Provenance) -> "Progress":
        """The same, with how it was played."""
        return Progress(self.stats, self.spsa, provenance)


class Conversation:
    """With one server."""

    def __init__(self, transport: Transport, account: Account) -> None:
        self.transport = transport
        self.account = account

    def version(self) -> worker_answers.VersionAnswer:
        body = worker_requests.Credentials(
            self.account.password, worker_requests.Caller(self.account.username)
        )
        return self._said("/api/request_version", body, worker_answers.VERSION)

    def task(self, info: WorkerInfo, held: HeldCall | None = None) -> worker_answers.TaskAnswer:
        """A task; where the call is held, the server may wait that long until it has one."""
        body = worker_requests.RequestTask(
            password=self.account.password,
            worker_info=info,
            rookery=worker_requests.TaskWish(held.seconds) if held else UNSET,
        )
        return self._said("/api/request_task", body, worker_answers.TASK, held)

    def beat(self, info: WorkerInfo, name: TaskName) -> worker_answers.AliveAnswer:
        body = worker_requests.TaskCall(
            password=self.account.password, worker_info=info, run_id=name.run, task_id=name.task
        )
        return self._said("/api/beat", body, worker_answers.ALIVE)

    def update(
        self, info: WorkerInfo, name: TaskName, told: Progress
    ) -> worker_answers.AliveAnswer:
        body = UpdateCall(
            password=self.account.password,
            worker_info=info,
            run_id=name.run,
            task_id=name.task,
            stats=told.stats,
            spsa=told.spsa,
            rookery=told.provenance,
        )
        return self._said("/api/update_task", body, worker_answers.ALIVE)

    def spsa(
        self, info: WorkerInfo, name: TaskName, told: Progress, slots: int
    ) -> worker_answers.SpsaAnswer:
        """Values for a batch; slots is 0 for the values of an official worker."""
        body = SpsaCall(
            password=self.account.password,
            worker_info=info,
            run_id=name.run,
            task_id=name.task,
            stats=told.stats,
            spsa=told.spsa,
            rookery=worker_requests.SpsaWish(slots) if slots else UNSET,
        )
        return self._said("/api/request_spsa", body, worker_answers.SPSA)

    def failed(
        self,
        info: WorkerInfo,
        name: TaskName,
        message: str,
        more: worker_requests.Failure | UnsetType,
    ) -> None:
        self._said(
            "/api/failed_task", self._complaint(info, name, message, more), worker_answers.END
        )

    def stop_run(
        self,
        info: WorkerInfo,
        name: TaskName,
        message: str,
        more: worker_requests.Failure | UnsetType,
    ) -> None:
        self._said("/api/stop_run", self._complaint(info, name, message, more), worker_answers.END)

    def upload_pgn(self, info: WorkerInfo, name: TaskName, packed: bytes) -> None:
        body = worker_requests.UploadPgn(
            password=self.account.password,
            worker_info=info,
            run_id=name.run,
            task_id=name.task,
            pgn=packed,
        )
        self._said("/api/upload_pgn", body, worker_answers.END)

    def log(self, info: WorkerInfo, name: TaskName | None, message: str) -> None:
        """A line about a task, or about the worker itself."""
        body = worker_requests.WorkerLog(
            password=self.account.password,
            worker_info=info,
            message=message,
            run_id=UNSET if name is None else name.run,
            task_id=UNSET if name is None else name.task,
        )
        self._said("/api/worker_log", body, worker_answers.END)

    def _complaint(
        self,
        info: WorkerInfo,
        name: TaskName,
        message: str,
        more: worker_requests.Failure | UnsetType,
    ) -> worker_requests.FailedTask:
        return worker_requests.FailedTask(
            password=self.account.password,
            worker_info=info,
            run_id=name.run,
            task_id=name.task,
            message=message,
            rookery=more,
        )

    def _said(self, path: str, body: object, reader: Reader[A], held: HeldCall | None = None) -> A:
        """The answer; raises CallRefused, or NoAnswer where it is none that can be read."""
        received = self.transport.post(path, encode(body), held)
        try:
            plain = worker_answers.PLAIN.read(received)
            if plain.error is not UNSET:
                raise CallRefused(plain.error)
            return reader.read(received)
        except WireFault as fault:
            raise NoAnswer(f"{self.transport.server} gives no usable answer: {fault}") from None
