"""Who plays whom."""

from itertools import islice

from rookery.match.job import EngineSpec, gauntlet, openings_of, pair_jobs, round_robin
from rookery.match.openings import Opening

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
