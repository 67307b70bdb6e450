"""Results as people paste them, in the styles of fishtest and OpenBench."""

from dataclasses import replace

import pytest

from rookery.core.model.kinds import Kind
from rookery.core.model.run import Run
from rookery.core.protocol.v1 import SummaryStyle
from rookery.server.farm.summaries import conditions, summary
from tests.makers import make_plan, make_run, make_side, pairs, sprt, spsa


def played(kind: Kind | None = None) -> Run:
    run = make_run(kind=kind)
    results = pairs(ll=10, ld=200, even=500, wd=240, ww=14)
    return replace(run, tally=replace(run.tally, results=results), kind=run.kind.rejudged(results))


def test_a_sequential_test_in_fishtests_words() -> None:
    assert summary(played(sprt(elo0=0.0, elo1=2.0)), SummaryStyle.FISHTEST) == (
        "LLR: 0.49 (-2.94,2.94) <0.00,2.00>\n"
        "Total: 1928 W: 268 L: 220 D: 1440\n"
        "Ptnml(0-2): 10, 200, 500, 240, 14\n"
    )


def test_a_sequential_test_in_openbenchs_words() -> None:
    assert summary(played(sprt(elo0=0.0, elo1=2.0)), SummaryStyle.OPENBENCH) == (
        "Elo   | 8.65 +- 8.17 (95%)\n"
        "SPRT  | 10.0+0.10s Threads=1 Hash=16MB\n"
        "LLR   | 0.49 (-2.94, 2.94) [0.00, 2.00]\n"
        "Games | N: 1928 W: 268 L: 220 D: 1440\n"
        "Penta | [10, 200, 500, 240, 14]\n"
    )


def test_fixed_games_tell_elo_instead() -> None:
    first, *_, last = summary(played(), SummaryStyle.FISHTEST).splitlines()
    assert first == "Elo: 8.65 ± 8.2 (95%) LOS: 98.1%"
    assert last.startswith("nElo: ")
    assert last.endswith("PairsRatio: 1.21")
    assert "Conf  | 10.0+0.10s" in summary(played(), SummaryStyle.OPENBENCH)


def test_a_difference_that_rounds_to_nothing_has_no_minus() -> None:
    run = make_run()
    results = pairs(ll=0, ld=100_001, even=5_000_000, wd=100_000, ww=0)
    even = replace(run, tally=replace(run.tally, results=results))
    first, second, *_ = summary(even, SummaryStyle.FISHTEST).splitlines()
    assert first.startswith("Elo: 0.00 ±")
    assert "-0.00" not in second


def test_a_tune_tells_how_far_it_is() -> None:
    run = make_run(kind=spsa(games=40_000))
    assert summary(run, SummaryStyle.FISHTEST) == "0/20000 iterations\n0/40000 games played\n"
    assert "Iters | 0 of 20000\n" in summary(run, SummaryStyle.OPENBENCH)


@pytest.mark.parametrize("style", list(SummaryStyle))
def test_before_the_first_game_there_is_no_elo(style: SummaryStyle) -> None:
    assert "Elo" not in summary(make_run(), style)


def test_sides_that_differ_are_both_told() -> None:
    sides = (make_side("new", tc="N=5000", threads=2), make_side("base", options="Hash=64"))
    run = make_run(plan=make_plan(sides=sides))
    assert conditions(run) == "N=5000 Threads=2 Hash=16MB vs 10.0+0.10s Threads=1 Hash=64MB"
