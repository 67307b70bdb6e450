"""Games become whole pairs, from one engine's point of view."""

import pytest

from rookery.core.results import Results, contradiction
from rookery.worker.fastchess import Tally
from rookery.worker.fastchess.events import GameFinished
from rookery.worker.fastchess.reading import read


def game(number: int, result: str, reason: str = "White mates") -> GameFinished:
    white, black = ("New", "Base") if number % 2 else ("Base", "New")
    event = read(f"Finished game {number} ({white} vs {black}): {result} {{{reason}}}")
    assert isinstance(event, GameFinished)
    return event


@pytest.mark.parametrize(
    ("first", "second", "bins"),
    [
        ("0-1", "1-0", (1, 0, 0, 0, 0)),
        ("1/2-1/2", "1-0", (0, 1, 0, 0, 0)),
        ("1/2-1/2", "1/2-1/2", (0, 0, 1, 0, 0)),
        ("1-0", "1-0", (0, 0, 1, 0, 0)),
        ("1-0", "1/2-1/2", (0, 0, 0, 1, 0)),
        ("1-0", "0-1", (0, 0, 0, 0, 1)),
    ],
)
def test_a_pair_falls_into_its_bin(
    first: str, second: str, bins: tuple[int, int, int, int, int]
) -> None:
    tally = Tally("New")
    assert [tally.add(game(1, first)), tally.add(game(2, second))] == [False, True]
    assert tally.results.pentanomial == bins
    assert contradiction(tally.results) is None


def test_a_single_game_waits_for_its_partner() -> None:
    tally = Tally("New")
    tally.add(game(2, "1-0"))
    tally.add(game(3, "1-0"))
    assert (tally.results, tally.waiting) == (Results(), 2)


def test_partners_are_found_in_whatever_order_they_finish() -> None:
    tally = Tally("New")
    for number in (4, 1, 3, 2):
        tally.add(game(number, "1-0"))
    assert tally.results == Results(wins=2, losses=2, pentanomial=(0, 0, 2, 0, 0))


def test_time_losses_and_crashes_are_counted() -> None:
    tally = Tally("New")
    tally.add(game(1, "1-0", "Black loses on time"))
    tally.add(game(2, "1-0", "Black disconnects"))
    assert (tally.results.time_losses, tally.results.crashes) == (1, 1)


def test_interrupted_games_and_other_engines_do_not_count() -> None:
    tally = Tally("Third")
    assert not tally.add(game(1, "1-0"))
    assert not Tally("New").add(game(1, "*", "No result"))
