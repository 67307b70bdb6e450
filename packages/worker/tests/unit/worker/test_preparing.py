"""Files are fetched and engines made, checked and measured before a game is played."""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.http_client import HeldCall
from rookery.core.http_failures import CallRefused, NoAnswer
from rookery.core.model.engine import EngineRecord
from rookery.match.openings import BookFault, OpeningBook, book_sri
from rookery.worker.engines.orders import BenchFailed, BenchResult, NotOffered, TaskFailed
from rookery.worker.preparing import BookCache, EnginePreparation, ServerDownloads
from rookery.worker.reporting import RetryPolicy, WrongSignature
from rookery.worker.sandbox.sandbox import BuiltEngine
from rookery.worker.server import ServerCalls, WorkerAccount
from tests.unit.worker.test_assignment import granted
from tests.workers.fake_server import record
from tests.workers.in_process import READY
from tests.workers.silent_watcher import SilentWatcher

AT_ONCE = RetryPolicy(seconds=0.0)


class Server:
    """Answers as a test says, and remembers what was asked for."""

    server = "https://farm.example.org"

    def __init__(self, act: Callable[[int], None] = lambda _: None) -> None:
        self.asked: list[tuple[str, tuple[str, str] | None]] = []
        self._act = act

    def post(self, path: str, body: bytes, held: HeldCall | None = None) -> bytes:
        raise AssertionError(path, body)

    def fetch(
        self,
        address: str,
        into: Path,
        *,
        credentials: tuple[str, str] | None,
        most_bytes: int = 0,
    ) -> None:
        del into, most_bytes
        self.asked.append((address, credentials))
        self._act(len(self.asked))


def downloads(server: Server) -> ServerDownloads:
    talk = ServerCalls(server, WorkerAccount("olga", "secret"))
    return ServerDownloads(talk, Threads(), SilentWatcher(), AT_ONCE)


def test_a_net_comes_with_the_workers_credentials() -> None:
    server = Server()
    asyncio.run(downloads(server).net("nn-1.nnue", Path("x")))
    assert server.asked == [("/api/nn/nn-1.nnue", ("olga", "secret"))]


def test_another_projects_server_gets_no_password() -> None:
    server = Server()
    offered = downloads(server)
    offered.foreign = True
    asyncio.run(offered.net("nn-1.nnue", Path("x")))
    assert server.asked == [("/api/nn/nn-1.nnue", None)]


def test_a_server_that_comes_back_is_asked_again() -> None:
    def away_twice(times: int) -> None:
        if times < 3:
            raise NoAnswer("gone")

    server = Server(away_twice)
    asyncio.run(downloads(server).binary("ab", Path("x")))
    assert len(server.asked) == 3


def test_what_a_server_has_not_is_not_offered() -> None:
    def refuse(_: int) -> None:
        raise CallRefused("404")

    with pytest.raises(NotOffered):
        asyncio.run(downloads(Server(refuse)).net("nn-1.nnue", Path("x")))


def test_a_server_that_stays_away_is_trouble() -> None:
    def away(_: int) -> None:
        raise NoAnswer("gone")

    with pytest.raises(OSError, match="gone"):
        asyncio.run(downloads(Server(away)).net("nn-1.nnue", Path("x")))


def test_sources_are_the_servers_only_where_they_live_there() -> None:
    server = Server()
    offered = downloads(server)
    with pytest.raises(NotOffered):
        asyncio.run(offered.source("https://github.com/a/b", "c" * 40, Path("x")))
    asyncio.run(offered.source(f"{server.server}/src/b", "c" * 40, Path("x")))
    assert [address for address, _ in server.asked] == [f"{server.server}/src/b/zipball/{'c' * 40}"]


def load_book(folder: Path, name: str, text: str, **said: object) -> OpeningBook:
    """Return the book of a worker's cache for a run that says this of it."""
    (folder / name).write_text(text)
    books = BookCache(folder, downloads(Server()), Threads())
    usual = {"sri": book_sri(text.encode()), "depth": 8, "chess960": False}
    found = asyncio.run(books.load(name, **usual | said))  # type: ignore[arg-type]  # as named
    assert found is not None
    return found


@pytest.mark.parametrize(("depth", "plies"), [(1, 2), (3, 6)])
def test_openings_are_played_as_deep_as_the_run_says(
    tmp_path: Path, depth: int, plies: int
) -> None:
    game = '[Result "*"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 *\n'
    assert len(load_book(tmp_path, "tiny.pgn", game, depth=depth)[0].moves) == plies


def test_a_run_of_fischer_random_takes_its_positions_from_a_book_of_any_name(
    tmp_path: Path,
) -> None:
    position = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 0 1"
    assert load_book(tmp_path, "mine.epd", f"{position}\n", chess960=True)[0].fen == position
    with pytest.raises(BookFault, match="impossible"):
        load_book(tmp_path, "mine.epd", f"{position}\n")[0]


def test_a_book_that_is_not_the_one_that_the_run_names_is_not_played(tmp_path: Path) -> None:
    with pytest.raises(TaskFailed, match="not the version that the run names"):
        load_book(tmp_path, "tiny.pgn", "1. e4 *\n", sri="another")


class Bench:
    """Counts as told, and remembers on how many slots it was asked to."""

    def __init__(self, nodes: int = 1234, nps: float = 500_000.0, *spreads: float) -> None:
        self.slots: list[int] = []
        self._found = [BenchResult(nodes, nps, each) for each in spreads or (0.0,)]

    async def __call__(
        self, _built: BuiltEngine, _record: EngineRecord, *, slots: int, **_: object
    ) -> BenchResult:
        self.slots.append(slots)
        return self._found.pop() if len(self._found) > 1 else self._found[0]


def test_times_are_scaled_by_the_speed_of_all_slots() -> None:
    bench, task = Bench(), granted(tc="10+0.1", reference_nps=1_000_000.0)
    found = asyncio.run(EnginePreparation(READY, bench).prepare(task, slots=3))
    assert found.factor == 2.0
    assert found.base.tc == "20+0.2"
    assert bench.slots == [3]


def test_fixed_nodes_are_not_scaled() -> None:
    bench = Bench()
    found = asyncio.run(EnginePreparation(READY, bench).prepare(granted(tc="N=100"), slots=3))
    assert (found.factor, bench.slots) == (1.0, [1])


def test_a_speed_is_good_for_a_while() -> None:
    bench = Bench()

    async def twice() -> None:
        preparation = EnginePreparation(READY, bench)
        await preparation.prepare(granted(tc="10+0.1"), slots=3)
        await preparation.prepare(granted(tc="10+0.1"), slots=3)

    asyncio.run(twice())
    assert bench.slots == [3]


def test_another_program_is_counted_too() -> None:
    bench, task = Bench(), granted(new_record=record("--seed", "2"))
    asyncio.run(EnginePreparation(READY, bench).prepare(task, slots=3))
    assert bench.slots == [1, 1]


def test_a_wrong_count_is_the_runs_fault() -> None:
    with pytest.raises(WrongSignature, match="expected: 1234 but worker got: 99") as wrong:
        asyncio.run(EnginePreparation(READY, Bench(nodes=99)).prepare(granted(), slots=1))
    assert wrong.value.found == 99


def test_counts_need_not_match_where_the_record_says_so() -> None:
    lenient = record() | {"bench": {"must_match": False}}
    task = granted(new_record=lenient, base_record=lenient)
    found = asyncio.run(EnginePreparation(READY, Bench(nodes=99)).prepare(task, slots=1))
    assert found.nps == 500_000


def test_a_machine_may_be_too_slow() -> None:
    slow = record() | {"speed": {"floor": 600_000.0}}
    with pytest.raises(TaskFailed, match="too slow for Mover: 500000 of 600000"):
        asyncio.run(EnginePreparation(READY, Bench()).prepare(granted(base_record=slow), slots=1))


@pytest.mark.parametrize(
    ("relief", "slots", "plays"), [(0.0, 64, False), (3.0, 64, True), (3.0, 1, False)]
)
def test_a_machine_whose_cores_are_all_busy_may_be_slower_where_the_record_says_so(
    relief: float, slots: int, *, plays: bool
) -> None:
    slow = record() | {"speed": {"floor": 600_000.0, "relief": relief}}
    task = granted(new_record=slow, base_record=slow)
    preparing = EnginePreparation(READY, Bench(nps=500_000.0)).prepare(task, slots=slots)
    with nullcontext() if plays else pytest.raises(TaskFailed, match="too slow"):
        asyncio.run(preparing)


def test_unequal_slots_mark_a_noisy_machine() -> None:
    bench = Bench(1234, 500_000.0, 0.2)
    found = asyncio.run(EnginePreparation(READY, bench).prepare(granted(), slots=2))
    assert found.noisy


def test_a_disturbance_that_passes_marks_nothing() -> None:
    bench = Bench(1234, 500_000.0, 0.01, 0.2)
    found = asyncio.run(EnginePreparation(READY, bench).prepare(granted(), slots=2))
    assert not found.noisy


def test_a_bench_that_fails_is_told_with_its_words() -> None:
    async def fail(*_: object, **__: object) -> BenchResult:
        raise BenchFailed("It crashed.", "segmentation fault")

    with pytest.raises(TaskFailed, match="crashed") as failed:
        asyncio.run(EnginePreparation(READY, fail).prepare(granted(), slots=1))
    assert (failed.value.log, failed.value.blame) == ("segmentation fault", "run")
