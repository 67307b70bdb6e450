"""Who plays whom, and pairs as counts."""

from itertools import islice

import pytest

from rookery.core.model.task import contradiction
from rookery.match.job import (
    EngineSpec,
    PairResult,
    Termination,
    gauntlet,
    openings_of,
    pair_jobs,
    round_robin,
)
from rookery.match.openings import Opening
from tests.unit.match.games import game, pair

ENGINES = tuple(EngineSpec(name, ("./x",), (), "N=1") for name in "abc")


def opening(number: int) -> Opening:
    return Opening(f"fen {number}")


def test_a_gauntlet_is_the_first_against_the_rest() -> None:
    assert [(a.name, b.name) for a, b in gauntlet(ENGINES)] == [("a", "b"), ("a", "c")]


def test_every_pairing_of_a_round_has_the_same_opening() -> None:
    found = list(pair_jobs(round_robin(ENGINES), opening, rounds=2))
    assert [job.opening.fen[-1] for job in found] == list("000111")
    assert [job.number for job in found] == list(range(6))


def test_what_was_played_is_left_out() -> None:
    found = pair_jobs(round_robin(ENGINES), opening, rounds=1, played={0, 2})
    assert [(job.number, job.second.name) for job in found] == [(1, "c")]


def test_a_match_without_rounds_never_runs_out() -> None:
    found = list(islice(pair_jobs(gauntlet(ENGINES[:2]), opening), 100))
    assert found[-1].opening.fen == "fen 99"


def test_without_a_book_every_game_starts_at_the_beginning() -> None:
    assert openings_of(None, None)(7).moves == ()


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
