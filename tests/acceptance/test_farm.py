"""End to end: a server, two workers and real games of every kind of run, all as real processes."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import chess
import pytest

from rookery.core.model.engine import BenchRecord, EngineRecord, RecipeRecord
from rookery.core.model.run import DisplayState
from rookery.core.protocol import v1
from rookery.core.stats.sprt import Flag
from tests.engines import repositories
from tests.engines.repositories import TINY
from tests.web_servers import web_server
from tests.workers.fake_server import Body
from tests.workers.farm import Farm, farm
from tests.workers.processes import until, worker_process

pytestmark = pytest.mark.timeout(300)

WIDE = {"elo0": 0.0, "elo1": 200.0, "batch_size": 1}
CARELESS = "Hash=1 Blunder=100"
ENDLESS = {"stopped", "broken"}
LLR_BOUND = 2.9
TINY_BENCH = "4242"
STOCKFISH_PATH = "/usr/games:/usr/bin:/usr/local/bin"
PARAMETERS = "Tempo,12,0,80,5,0.002\nMobility,4,0,30,2,0.002"


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Tests look at the runs."""


@contextmanager
def over_http(folder: Path) -> Iterator[str]:
    """The repositories of a folder, as any web server offers them."""
    with web_server(partial(Silent, directory=str(folder))) as address:
        yield address


def published(folder: Path) -> tuple[str, str]:
    """A bare repository with the tiny engine: a commit that can be built, and one that can't."""
    made = repositories.openbench(folder / "work")
    (folder / "work" / "tiny.c").write_text("int main( { return nonsense; }")
    broken = repositories.commit(folder / "work")
    words = ("clone", "--quiet", "--bare", str(folder / "work"), str(folder / "tiny"))
    repositories.git(folder / "work", *words)
    repositories.git(folder / "tiny", "update-server-info")
    return made.commit, broken


def compiled(folder: Path) -> Path:
    """The tiny engine as a program."""
    source, program = folder / "tiny.c", folder / "tiny-program"
    source.write_text(TINY)
    subprocess.run(["cc", "-O1", "-static", "-o", program, source], check=True)
    return program


def from_the_start(a_farm: Farm, folder: Path) -> str:
    """A book for an engine that knows one opening."""
    book = folder / "start.epd"
    book.write_text(f"{chess.STARTING_FEN}\n")
    return a_farm.client.put_book("start.epd", book).name


def submitted(a_farm: Farm, folder: Path, sources: str, commit: str, broken: str) -> dict[str, str]:
    """One run of each kind, by its name."""
    tiny: dict[str, object] = {"num_games": 4, "book": from_the_start(a_farm, folder)}
    a_farm.client.put_engine(EngineRecord(name="Tiny"))
    built: dict[str, object] = {
        "new_engine": "Tiny",
        "base_engine": "Tiny",
        "tests_repo": f"{sources}/tiny",
        "new_signature": TINY_BENCH,
        "base_signature": TINY_BENCH,
    }
    program = a_farm.client.upload(compiled(folder)).sha256
    runs = {
        "wrong bench": a_farm.submit(num_games=4, new_signature="31000"),
        "accepted": a_farm.submit(sprt=WIDE, base_options=CARELESS, draw=None, tc="N=50"),
        "rejected": a_farm.submit(sprt=WIDE, new_options=CARELESS, draw=None, tc="N=50"),
        "fixed": a_farm.submit(num_games=6),
        "tune": a_farm.submit(num_games=8, spsa={"raw_params": PARAMETERS}),
        "broken": a_farm.submit(**tiny, **built, resolved_new=broken, resolved_base=commit),
        "from git": a_farm.submit(**tiny, **built, resolved_new=commit, resolved_base=commit),
        "uploaded": a_farm.submit(
            **tiny,
            new_engine=None,
            base_engine=None,
            new_binary=program,
            base_binary=program,
            tests_repo=None,
            resolved_new=None,
            resolved_base=None,
            new_signature=None,
            base_signature=None,
        ),
        "stopped": a_farm.submit(num_games=100_000, priority=-1),
    }
    return runs | with_stockfish(a_farm)


def with_stockfish(a_farm: Farm) -> dict[str, str]:
    """Debian's, where it is installed."""
    program = shutil.which("stockfish", path=STOCKFISH_PATH)
    if program is None:
        return {}
    record = EngineRecord(
        name="Debian",
        recipe=RecipeRecord(kind="installed", output=program),
        bench=BenchRecord(
            command="bench 16 1 4", pattern=r"Nodes searched\s*:\s*(\d+)", must_match=False
        ),
    )
    a_farm.client.put_engine(record)
    return {"stockfish": a_farm.submit(new_engine="Debian", base_engine="Debian", num_games=4)}


@dataclass(frozen=True)
class Season:
    """What came of all runs, and of the workers."""

    runs: Mapping[str, v1.RunDetails]
    codes: tuple[int, int]
    troubles: str
    failures: tuple[Body, ...]


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Season]:
    folder = tmp_path_factory.mktemp("season")
    (folder / "work").mkdir()
    commits = published(folder)
    with farm(folder) as a_farm, over_http(folder) as sources:
        runs = submitted(a_farm, folder, sources, *commits)
        with (
            worker_process(a_farm.relay.address, folder / "one") as one,
            worker_process(a_farm.relay.address, folder / "two") as two,
        ):
            awaited = [run for name, run in runs.items() if name not in ENDLESS]
            until(lambda: all(is_over(a_farm, run) for run in awaited), one, seconds=200, pause=0.5)
            until(lambda: a_farm.games(runs["stopped"]) > 0, one)
            a_farm.client.stop(runs["stopped"])
            one.interrupt()
            two.interrupt()
            codes = one.ended(), two.ended()
            said = one.said() + two.said()
        failures = tuple(body for call, body in a_farm.relay.heard if call == "failed_task")
        found = {name: a_farm.run(run) for name, run in runs.items()}
        yield Season(found, codes, said, failures)


def is_over(a_farm: Farm, run: str) -> bool:
    return a_farm.run(run).state in (DisplayState.FINISHED, DisplayState.FAILED)


def test_a_stronger_engine_is_accepted(season: Season) -> None:
    assert season.runs["accepted"].flag is Flag.GREEN, season.troubles


def test_a_weaker_engine_is_rejected(season: Season) -> None:
    run = season.runs["rejected"]
    assert run.state is DisplayState.FINISHED
    assert isinstance(run.llr, float)
    assert run.llr < -LLR_BOUND


@pytest.mark.parametrize(
    ("name", "games"), [("fixed", 6), ("tune", 8), ("from git", 4), ("uploaded", 4)]
)
def test_all_games_of_a_run_are_played_once(name: str, games: int, season: Season) -> None:
    run = season.runs[name]
    assert run.state is DisplayState.FINISHED, season.troubles
    assert run.results.games == games
    assert (run.results.crashes, run.results.time_losses) == (0, 0)


def test_debians_stockfish_plays_where_it_is(season: Season) -> None:
    games = [run.results.games for name, run in season.runs.items() if name == "stockfish"]
    assert games in ([], [4])


def test_a_wrong_bench_ends_its_run(season: Season) -> None:
    run = season.runs["wrong bench"]
    assert (run.state, run.results.games) == (DisplayState.FAILED, 0)


def test_a_build_that_fails_is_told_with_its_log_and_not_tried_again(season: Season) -> None:
    failed = [one for one in season.failures if one["run_id"] == season.runs["broken"].id]
    assert 1 <= len(failed) <= 2
    assert len({one["worker_info"]["unique_key"] for one in failed}) == len(failed)
    assert all("nonsense" in one["rookery"]["log"] for one in failed)


def test_a_run_that_is_stopped_keeps_its_games(season: Season) -> None:
    run = season.runs["stopped"]
    assert run.state is DisplayState.FINISHED
    assert run.results.games > 0


def test_workers_that_are_asked_to_leave_do_so(season: Season) -> None:
    assert season.codes == (0, 0)


def test_a_short_test_begins_at_once_and_counts_for_both_of_two_waiting_workers(
    tmp_path: Path,
) -> None:
    with (
        farm(tmp_path) as a_farm,
        worker_process(a_farm.server.address, tmp_path / "one", "--key=one") as one,
        worker_process(a_farm.server.address, tmp_path / "two", "--key=two") as two,
    ):
        until(lambda: all("waiting for work" in worker.said() for worker in (one, two)), one)
        sprt = {"elo0": 0.0, "elo1": 40.0}
        run_id = a_farm.submit(sprt=sprt, tc="N=20", draw=None, num_games=800_000)

        def players() -> set[str]:
            tasks = json.loads(a_farm.server.get(f"/api/v1/tasks?run={run_id}")[1])["tasks"]
            return {task["worker"] for task in tasks if any(task["results"]["pentanomial"])}

        until(lambda: len(players()) == 2, one, pause=0.2)
        assert a_farm.run(run_id).state is DisplayState.ACTIVE
        two.interrupt()
        assert two.ended() == 0, two.said()
