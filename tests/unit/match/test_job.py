"""Pairs as counts."""

import pytest

from rookery.match.job import EngineSpec, PairResult, Termination
from rookery.model.task import contradiction
from tests.unit.match.games import game, pair


@pytest.mark.parametrize(
    ("results", "place"),
    [
        (("0-1", "1-0"), 0),
        (("0-1", "1/2-1/2"), 1),
        (("1-0", "1-0"), 2),
        (("1-0", "1/2-1/2"), 3),
        (("1-0", "0-1"), 4),
    ],
)
def test_a_pair_is_counted_from_the_first_engines_view(
    results: tuple[str, str], place: int
) -> None:
    counted = pair(*results).results
    assert counted.pentanomial[place] == 1
    assert contradiction(counted) is None


def test_crashes_stalls_and_time_losses_are_counted_for_both_sides() -> None:
    games = game(termination=Termination.STALL), game(termination=Termination.TIME)
    counted = PairResult(0, "new", "base", games).results
    assert (counted.crashes, counted.time_losses) == (1, 1)


def test_a_process_may_go_on_with_other_values_of_the_same_options() -> None:
    def spec(*options: tuple[str, str]) -> EngineSpec:
        return EngineSpec("a", ("./a",), options, "N=1")

    assert spec(("Hash", "2")).runs_like(spec(("Hash", "1")))
    assert not spec().runs_like(spec(("Hash", "1")))
