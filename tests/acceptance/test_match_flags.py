"""What the flags of `rookery match`, `tune` and `replay` do to the games that are played."""

import json
from pathlib import Path

import pytest

from rookery.match.commands.options import make_setup
from rookery.match.job import Setup, Termination
from rookery.match.openings import Opening
from tests.acceptance.test_match import MATE_BOOK, PLANTED, engine, rookery
from tests.acceptance.test_match_games import CASTLE
from tests.engines.matches import MOVER, mover, play
from tests.unit.match.commands.test_match import SIDES, parsed

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def setup(*words: str) -> Setup:
    return make_setup(parsed(*SIDES, "--max-moves", "4", *words))


@pytest.mark.anyio
@pytest.mark.parametrize(("margin", "failed"), [("20", "late"), ("60000", "")])
async def test_an_answer_within_the_margin_is_in_time(margin: str, failed: str) -> None:
    late = mover("late", "--misdeed", "slow=1", tc="MT=1", options=[("Sleep", "0.1")])
    played = await play(late, mover("other"), setup=setup("--margin", margin))
    assert played.games[0].failed == failed


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("words", "ending"),
    [((), Termination.ADJUDICATION), (("--strict-pvs",), Termination.ILLEGAL)],
)
async def test_illegal_variations_lose_where_that_is_asked_for(
    words: tuple[str, ...], ending: Termination
) -> None:
    played = await play(mover("bad", "--misdeed", "pv=1"), mover("good"), setup=setup(*words))
    assert played.games[0].termination is ending


@pytest.mark.anyio
async def test_fischer_random_is_played_where_it_is_asked_for() -> None:
    rules, opening = setup("--chess960"), Opening(CASTLE)
    played = await play(mover("a"), mover("b"), setup=rules, opening=opening)
    assert [(game.chess960, game.failed) for game in played.games] == [(True, "")] * 2


def test_a_folder_of_tablebases_is_opened(tmp_path: Path) -> None:
    tables = ("--syzygy", "/nowhere", "--syzygy-men", "3")
    ran = rookery(
        tmp_path, "match", "--new", engine(MOVER), "--base", engine(MOVER), "--tc", "N=1", *tables
    )
    assert ran.returncode == 3
    assert "/nowhere" in ran.stderr


def tuned(folder: Path, *words: str) -> float:
    """How far a short tune moves a parameter that begins away from its best value."""
    (folder / "lines.txt").write_text("P,float,70,0,200,4,0.05\nQ,float,60,0,200,4,0.05\n")
    (folder / "mate.epd").write_text(MATE_BOOK)
    ran = rookery(
        folder, "tune", "--engine", engine(PLANTED), "--parameters", "lines.txt", "--games", 40,
        "--tc", "N=1", "--book", "mate.epd", "--concurrency", 1, "--json", *words,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return abs(float(json.loads(ran.stdout)["values"]["P"]) - 70)


@pytest.mark.parametrize(
    ("words", "far"),
    [
        ((), False),
        (("--alpha", "10"), True),
        (("--alpha", "10", "--A", "1000"), False),
        (("--alpha", "10", "--gamma", "10"), False),
    ],
)
def test_a_tune_has_the_schedule_that_is_asked_for(
    words: tuple[str, ...], far: bool, tmp_path: Path
) -> None:
    """Steps that shrink to a millionth begin as large ones, unless they hardly shrink within such
    a tune, or begin with perturbations that are as large."""
    moved = tuned(tmp_path, *words)
    assert moved > 50 if far else moved < 25


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a game of the bundled engine against itself."""
    folder = tmp_path_factory.mktemp("recorded")
    made = rookery(
        folder, "match", "--new", "rookery-fledgling", "--base", "rookery-fledgling", "--tc",
        "N=100", "--games", 2, "--max-moves", 20, "--concurrency", 1, "--pgn", "games.pgn",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.parametrize("side", ["white", "black"])
@pytest.mark.parametrize(
    ("flag", "value"), [("", engine(MOVER)), ("-tc", "N=3000"), ("-option", "Blunder=100")]
)
def test_what_is_given_for_a_side_is_played_by_that_side(
    recorded: Path, side: str, flag: str, value: str
) -> None:
    ran = rookery(recorded, "replay", "games.pgn", 1, f"--{side}{flag}", value, "--json")
    assert ran.returncode == 1, ran.stderr
    assert json.loads(ran.stdout)["difference"]["ply"] % 2 == (side == "white")
