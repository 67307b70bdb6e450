"""A worker's whole life inside the test's own process, with engines in theirs."""

import asyncio
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.core.model.engine import EngineRecord
from rookery.worker.commands.settings import WorkerSettings
from rookery.worker.commands.start import make_context, session_options
from rookery.worker.engines.orders import BenchResult, EngineOrder
from rookery.worker.identity import MachineFacts
from rookery.worker.preparing import BenchCall, EngineMaker, EnginePreparation, RoundOutcome
from rookery.worker.sandbox.sandbox import NO_SANDBOX, BuiltEngine, Sandbox
from rookery.worker.session import WorkerSession
from rookery.worker.stopping import Stop, WorkerStatus
from tests.workers.fake_server import BENCH, FakeServer, fake_server
from tests.workers.fake_system import FakeSystem

FACTS = MachineFacts(
    system="linux",
    uname="Linux 6.8.0",
    linkage=("64bit", "ELF"),
    python=(3, 11, 7),
    cpu="Some processor",
    flags=("avx2",),
    arch="x86-64-avx2",
    physical_cores=8,
    numa=1,
    tools={"make": "4.3"},
    compiler="g++",
    compiler_version=(12, 2, 0),
    host="fake",
)


class ReadyWorkshop:
    """A shop that has every engine: what a record names is there and need not be tried."""

    async def make(self, order: EngineOrder) -> BuiltEngine:
        return BuiltEngine(tuple(shlex.split(order.record.recipe.output)), "0" * 64)

    async def sandbox(self) -> Sandbox:
        return NO_SANDBOX


async def quick_bench(_built: BuiltEngine, _record: EngineRecord, **_: object) -> BenchResult:
    return BenchResult(int(BENCH), 1_000_000.0)


@dataclass
class RecordedDisplay:
    """What a worker said and showed; a test may act on what is shown."""

    said: list[str] = field(default_factory=list)
    on_show: Callable[[WorkerStatus], object] = lambda _: None

    def say(self, sentence: str) -> None:
        self.said.append(sentence)

    def show(self, status: WorkerStatus) -> None:
        self.on_show(status)


@dataclass
class WorkerRun:
    """How it ended."""

    outcome: RoundOutcome
    said: list[str]


READY = ReadyWorkshop()
Act = Callable[[Stop, WorkerStatus], object]


def run_worker(
    server: FakeServer,
    folder: Path,
    act: Act = lambda _stop, _status: None,
    *,
    shop: EngineMaker = READY,
    bench: BenchCall = quick_bench,
    **settings: object,
) -> WorkerRun:
    """One life with a server that stands in; `act` may ask it to stop when it sees a status."""
    (folder / "password").write_text("secret")
    with fake_server(server):
        return asyncio.run(_live(server, folder, shop, bench, act, settings))


async def _live(
    server: FakeServer,
    folder: Path,
    shop: EngineMaker,
    bench: BenchCall,
    act: Act,
    settings: dict[str, object],
) -> WorkerRun:
    wanted = WorkerSettings(
        server=server.address,
        username="olga",
        password_file=str(folder / "password"),
        cache=str(folder / "cache"),
        **{"concurrency": "1", "once": True, "retry_seconds": 0.01, **settings},  # type: ignore[arg-type] # as a test says
    )
    stop = Stop(wanted.grace)
    heard = RecordedDisplay(on_show=lambda status: act(stop, status))
    parts = await make_context(wanted, FakeSystem(), stop, Threads(), heard, lambda _: FACTS, shop)
    life = WorkerSession(parts, EnginePreparation(parts.workshop, bench), session_options(wanted))
    return WorkerRun(await life.run(), heard.said)
