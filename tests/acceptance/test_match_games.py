"""Matches on the test's own loop, between quick engines."""

import os
import shutil
import sys

import pytest

from rookery.match.game import LocalMatch
from rookery.match.job import (
    OFFICIAL,
    EngineSpec,
    EngineTimeouts,
    MatchFault,
    PairJob,
    Setup,
    Termination,
)
from rookery.match.openings import STANDARD, Opening
from tests.engines.matches import SHORT, mover, play
from tests.places import IMPORTED

pytestmark = pytest.mark.anyio

CASTLE = "4k3/8/8/8/8/8/8/5KR1 w G - 0 1"
AHEAD = "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
MATE = "7k/8/6K1/8/8/8/8/R7 w - - 0 1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_identical_engines_give_exactly_mirrored_pairs() -> None:
    played = await play(
        mover("a"), mover("b"), pairs=2, setup=Setup(timeouts=EngineTimeouts(30, 5, 0.2))
    )
    for pair in played.pairs:
        first, second = pair.games
        assert [one.move for one in first.moves] == [one.move for one in second.moves]
        assert sum(pair.points) == 2


async def test_colours_are_reversed_on_the_same_opening() -> None:
    opening = Opening("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", ("e2e4",))
    played = await play(mover("a"), mover("b"), opening=opening)
    assert [(game.white, game.black) for game in played.games] == [("a", "b"), ("b", "a")]
    assert {(game.fen, game.book_moves) for game in played.games} == {(opening.fen, ("e2e4",))}


async def test_an_opening_that_is_over_is_scored_as_it_stands() -> None:
    played = await play(mover("a"), mover("b"), opening=Opening(MATE, ("a1a8",)))
    assert [game.result for game in played.games] == ["1-0", "1-0"]
    assert [game.termination for game in played.games] == [Termination.NORMAL] * 2


async def test_fischer_random_is_told_and_played() -> None:
    setup = Setup(adjudication=SHORT.adjudication, chess960=True, timeouts=SHORT.timeouts)
    played = await play(mover("a"), mover("b"), setup=setup, opening=Opening(CASTLE))
    assert [game.failed for game in played.games] == ["", ""]


async def test_moves_carry_what_the_engine_thought() -> None:
    played = await play(mover("a"), mover("b"))
    move = played.games[0].moves[0]
    assert (move.depth, move.nodes) == (1, 42)
    assert move.score[0] in "+-"
    assert move.seconds > 0


@pytest.mark.parametrize(
    ("first", "second"), [("5+0.1", "10+0.1"), ("20/5", "D=1"), ("MT=500", "N=1")]
)
async def test_each_side_has_its_own_time_control(first: str, second: str) -> None:
    played = await play(mover("a", tc=first), mover("b", tc=second))
    assert [game.failed for game in played.games] == ["", ""]


async def test_the_runner_measures_itself() -> None:
    latency = (await play(mover("a"), mover("b"))).latency
    assert latency.plies == 32
    assert latency.turnaround.count == 30
    assert latency.cpu_seconds > 0


async def test_what_keeps_a_match_from_starting_reaches_who_watches() -> None:
    with pytest.raises(MatchFault, match="tablebases"):
        await play(mover("a"), mover("b"), setup=Setup(syzygy=("/no/such/folder",)))


async def test_a_match_may_be_left_in_the_middle() -> None:
    jobs = (PairJob(number, STANDARD, mover("a"), mover("b")) for number in range(1000))
    async with LocalMatch(jobs, SHORT, concurrency=2) as match:
        async for _ in match:
            break
    assert next(jobs).number < 10


def installed() -> dict[str, tuple[str, ...]]:
    """Real engines: our own, and Stockfish where the machine has it."""
    found: dict[str, tuple[str, ...]] = {
        "fledgling": (sys.executable, "-m", "rookery.match.fledgling")
    }
    if stockfish := shutil.which("stockfish", path=f"{os.environ['PATH']}:/usr/games"):
        found["stockfish"] = (stockfish,)
    return found


INSTALLED = installed()


@pytest.mark.parametrize("name", INSTALLED)
async def test_real_engines_play_a_match(name: str) -> None:
    environment = (("PYTHONPATH", IMPORTED), ("PATH", os.environ["PATH"]))
    real = EngineSpec(name, INSTALLED[name], (("Hash", "1"),), "N=50", environment=environment)
    setup = Setup(OFFICIAL)
    played = await play(real, mover("random"), setup=setup, opening=Opening(AHEAD))
    assert [game.failed for game in played.games] == ["", ""]
    assert played.pairs[0].points[0] == 2, "a queen ahead it wins with White"
    assert played.games[0].moves[0].nodes > 0
