"""Shares of runs are the contract's internal throughput."""

from dataclasses import replace

import pytest

from rookery.model.kinds import SprtTest
from rookery.model.run import Run
from rookery.model.timecontrol import parse
from rookery.rules.assignment import length_ratio, share, shares
from rookery.stats.sprt import Sprt, SprtState
from tests.makers import make_plan, make_run, pairs, sprt

NPS = 628_000


def played(run: Run, games: int) -> Run:
    return replace(run, tally=replace(run.tally, results=pairs(even=games // 2)))


def test_the_vectors_hold() -> None:
    assert share(make_run(kind=sprt()), 1) == pytest.approx(97.2973, abs=1e-4)
    near = SprtTest(Sprt(0.5, 2.5, batch_size=3), SprtState(llr=2.5))
    long = played(make_run(plan=make_plan(tc="60+0.6"), kind=near), 50_000)
    assert share(long, 2) == pytest.approx(522.2754, abs=1e-4)
    wide = make_run(plan=make_plan(tc="5+0.05", threads=8), kind=sprt())
    assert share(wide, 3) == pytest.approx(233.9292, abs=1e-4)


def test_length_ratios_are_the_contracts() -> None:
    assert length_ratio(parse("60+0.6"), 1, NPS) == pytest.approx(6)
    assert length_ratio(parse("5+0.05"), 8, NPS) == pytest.approx(4)


def test_throughput_is_bounded() -> None:
    modest = share(make_run(plan=make_plan(throughput=500)), 1)
    assert share(make_run(plan=make_plan(throughput=10**6)), 1) == modest
    assert share(make_run(plan=make_plan(throughput=-5)), 1) == pytest.approx(36 / 37)


def test_a_users_runs_share_among_themselves() -> None:
    mine = [make_run(f"a{number}", cores=1) for number in range(6)]
    other = make_run("b", make_plan(owner="other"), cores=1)
    found = shares([*mine, other])
    assert found[mine[0].id] == pytest.approx(50)
    assert found[other.id] == pytest.approx(100 * 36 / 37)
