"""Where a match stands."""

from rookery.match.results import MatchScore, pair_score_of
from rookery.stats.sprt import Sprt, Verdict
from tests.unit.match.games import pair


def after(*pairs: tuple[str, str], sprt: Sprt | None = None) -> MatchScore:
    standing = MatchScore(sprt)
    for results in pairs:
        standing = standing.after(pair_score_of(pair(*results)))
    return standing


def test_counts_add_up() -> None:
    standing = after(("1-0", "0-1"), ("1/2-1/2", "1-0"))
    assert standing.results.pentanomial == (0, 1, 0, 0, 1)
    assert (standing.results.wins, standing.results.losses, standing.results.draws) == (2, 1, 1)


def test_whites_share_counts_both_engines_with_white() -> None:
    assert after(("1-0", "1-0")).white_share == 1.0
    assert after(("1-0", "0-1")).white_share == 0.5


def test_a_test_is_decided_once() -> None:
    sprt = Sprt(0, 50)
    standing = after(*[("1-0", "0-1")] * 40, sprt=sprt)
    assert standing.verdict is Verdict.ACCEPTED
    for _ in range(100):
        standing = standing.after(pair_score_of(pair("0-1", "1-0")))
    assert standing.verdict is Verdict.ACCEPTED


def test_ends_are_counted_by_kind() -> None:
    assert after(("1-0", "0-1")).terminations == {"normal": 2}
