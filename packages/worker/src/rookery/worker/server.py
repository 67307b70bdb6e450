"""A worker's server: the transport, and the calls themselves, typed. Each call blocks until it is
answered, so make it in a thread."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urljoin

from msgspec import UNSET, UnsetType

from rookery.core import __version__
from rookery.core.http_client import LARGEST_FILE, SECONDS, HeldCall, HttpClient, basic
from rookery.core.http_failures import CallRefused, NoAnswer
from rookery.core.model.machine import WorkerInfo
from rookery.core.model.task import Provenance, Results
from rookery.core.protocol import worker_answers, worker_requests
from rookery.core.protocol.codec import Reader, WireFault, encode
from rookery.core.protocol.worker_answers import WorkerAnswer

# The transport: a new connection for each call, one body in each direction.
#
# Only the body of an answer matters to a worker, not its status. Redirected calls are not followed,
# because they contain the password. Redirected downloads are, without it.

LARGEST_ANSWER = 16 * 2**20


class Transport(Protocol):
    """The transport of a worker's calls. Tests have their own."""

    server: str

    def post(self, path: str, body: bytes, held: HeldCall | None = None) -> bytes:
        """Return the body of the answer. Raise NoAnswer."""
        ...

    def fetch(
        self,
        address: str,
        into: Path,
        *,
        credentials: tuple[str, str] | None,
        most_bytes: int = LARGEST_FILE,
    ) -> None:
        """Download a file from the server or from elsewhere. Raises NoAnswer, CallRefused or
        UnsafeAnswer."""
        ...


class HttpTransport:
    """Reaches a server over HTTP or HTTPS, with certificates verified."""

    def __init__(self, server: str, seconds: float = SECONDS, *, private: bool = False) -> None:
        """`private` allows files from this machine's own network, besides those of the server."""
        self.server = server.rstrip("/")
        self._http = HttpClient(
            agent=f"rookery-worker/{__version__}",
            seconds=seconds,
            largest=LARGEST_ANSWER,
            home="" if private else self.server,
        )

    def post(self, path: str, body: bytes, held: HeldCall | None = None) -> bytes:
        kind = {"Content-Type": "application/json"}
        return self._http.call("POST", self.server + path, body=body, headers=kind, held=held).body

    def fetch(
        self,
        address: str,
        into: Path,
        *,
        credentials: tuple[str, str] | None,
        most_bytes: int = LARGEST_FILE,
    ) -> None:
        url = urljoin(f"{self.server}/", address)
        known = credentials if url.startswith(f"{self.server}/") else None
        shown = basic(*known) if known else ""
        self._http.download(url, into, authorization=shown, most_bytes=most_bytes)


# The calls of a worker, typed. Each blocks until it is answered, so make it in a thread.

A = TypeVar("A", bound=WorkerAnswer)


class SpsaCall(worker_requests.RequestSpsa, frozen=True, gc=False, kw_only=True):
    """request_spsa as the official worker sends it, with the results so far."""

    stats: Results
    spsa: worker_requests.SlotResult | UnsetType = UNSET


class UpdateCall(worker_requests.TaskCall, frozen=True, gc=False, kw_only=True):
    """The body of update_task. Only a Rookery server gets a tune's batch in parts."""

    stats: Results
    spsa: worker_requests.SlotResult | UnsetType = UNSET
    rookery: Provenance | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class WorkerAccount:
    """The account of the worker's owner. A worker token may take the place of the password."""

    username: str
    password: str


@dataclass(frozen=True, slots=True)
class TaskId:
    """The task that a call is about."""

    run: str
    task: int


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """The content of an update: all results of the task, and the data of the last batch."""

    stats: Results
    spsa: worker_requests.SlotResult | UnsetType = UNSET
    provenance: Provenance | UnsetType = UNSET

    def by(self, provenance: Provenance) -> "TaskProgress":
        """Return the same progress, with how the games were played."""
        return TaskProgress(self.stats, self.spsa, provenance)


class ServerCalls:
    """The calls of a worker to one server."""

    def __init__(self, transport: Transport, account: WorkerAccount) -> None:
        self.transport = transport
        self.account = account

    def version(self) -> worker_answers.VersionAnswer:
        body = worker_requests.Credentials(
            self.account.password, worker_requests.WorkerOwner(self.account.username)
        )
        return self._said("/api/request_version", body, worker_answers.VERSION)

    def task(self, info: WorkerInfo, held: HeldCall | None = None) -> worker_answers.TaskAnswer:
        """Ask for a task. If the call is held, the server may wait until it has one."""
        body = worker_requests.RequestTask(
            password=self.account.password,
            worker_info=info,
            rookery=worker_requests.TaskWish(held.seconds) if held else UNSET,
        )
        return self._said("/api/request_task", body, worker_answers.TASK, held)

    def beat(self, info: WorkerInfo, name: TaskId) -> worker_answers.AliveAnswer:
        body = worker_requests.TaskCall(
            password=self.account.password, worker_info=info, run_id=name.run, task_id=name.task
        )
        return self._said("/api/beat", body, worker_answers.ALIVE)

    def update(
        self, info: WorkerInfo, name: TaskId, told: TaskProgress
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
        self, info: WorkerInfo, name: TaskId, told: TaskProgress, slots: int
    ) -> worker_answers.SpsaAnswer:
        """Ask for values for a batch. `slots` is 0 for the values of an official worker."""
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
        name: TaskId,
        message: str,
        more: worker_requests.Failure | UnsetType,
    ) -> None:
        self._said(
            "/api/failed_task", self._complaint(info, name, message, more), worker_answers.END
        )

    def stop_run(
        self,
        info: WorkerInfo,
        name: TaskId,
        message: str,
        more: worker_requests.Failure | UnsetType,
    ) -> None:
        self._said("/api/stop_run", self._complaint(info, name, message, more), worker_answers.END)

    def upload_pgn(self, info: WorkerInfo, name: TaskId, packed: bytes) -> None:
        body = worker_requests.UploadPgn(
            password=self.account.password,
            worker_info=info,
            run_id=name.run,
            task_id=name.task,
            pgn=packed,
        )
        self._said("/api/upload_pgn", body, worker_answers.END)

    def log(self, info: WorkerInfo, name: TaskId | None, message: str) -> None:
        """Send a line about a task, or about the worker itself."""
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
        name: TaskId,
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
        """Return the answer. Raise CallRefused, or NoAnswer if it can't be parsed."""
        received = self.transport.post(path, encode(body), held)
        try:
            plain = worker_answers.PLAIN.read(received)
            if plain.error is not UNSET:
                raise CallRefused(plain.error)
            return reader.read(received)
        except WireFault as fault:
            raise NoAnswer(
                f"{self.transport.server} gave an answer that can't be used: {fault}"
            ) from None
