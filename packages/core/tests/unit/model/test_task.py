"""Results add, subtract and contradict themselves only when they should."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.core.model.task import NOTHING, Results, contradiction, total
from tests.values import QUICK, counts

PAIRS = ((0, 2, 0), (0, 1, 1), (0, 0, 2), (1, 1, 0), (1, 0, 1), (2, 0, 0))  # wins, losses, draws
SCORES = (0, 1, 2, 2, 3, 4)


def from_pairs(counts: list[int]) -> Results:
    bins = [0] * 5
    for score, n in zip(SCORES, counts, strict=True):
        bins[score] += n
    wins, losses, draws = (
        sum(p[i] * n for p, n in zip(PAIRS, counts, strict=True)) for i in range(3)
    )
    return Results(wins, losses, draws, 0, 0, (bins[0], bins[1], bins[2], bins[3], bins[4]))


played = st.lists(st.integers(0, 50), min_size=6, max_size=6).map(from_pairs)


@QUICK
@given(played, played, played)
def test_addition_is_associative_commutative_and_undone_by_subtraction(
    a: Results, b: Results, c: Results
) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert (a + b) - b == a
    assert total([a, b, c]) == a + b + c + NOTHING


@QUICK
@given(played, played)
def test_games_and_pairs_are_additive(a: Results, b: Results) -> None:
    assert (a + b).games == a.games + b.games == 2 * (a + b).pairs


@QUICK
@given(played)
def test_results_made_of_whole_pairs_never_contradict_themselves(a: Results) -> None:
    assert contradiction(a) is None


@QUICK
@given(played, played)
def test_a_sum_covers_its_parts(a: Results, b: Results) -> None:
    assert (a + b).covers(a)
    assert a.covers(a + b) == (b == NOTHING)


def test_each_contradiction_has_its_sentence() -> None:
    assert contradiction(counts(wins=1, losses=-1)) == "a count is negative"
    odd = counts(wins=1, draws=2, pentanomial=(0, 0, 0, 1, 0))
    assert contradiction(odd) == "the number of games is not twice the number of pairs"
    swapped = counts(wins=1, draws=1, pentanomial=(0, 1, 0, 0, 0))
    assert contradiction(swapped) == "wins minus losses differs from what the pairs say"
    decisive = counts(wins=4, losses=4, pentanomial=(0, 2, 0, 2, 0))
    assert contradiction(decisive) == "the number of draws is not possible with these pairs"


def test_more_than_three_crashes_or_a_tenth_lost_on_time_is_excessive() -> None:
    assert counts(draws=10, crashes=4).excessive()
    assert not counts(draws=10, crashes=3, time_losses=10).excessive()
    assert counts(draws=30, time_losses=4).excessive()
    assert not counts(draws=30, time_losses=3).excessive()
