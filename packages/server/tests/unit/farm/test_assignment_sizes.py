"""Sizes of tasks and batches, and each run's share of the machines."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.model.kinds import SprtTest
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.model.timecontrol import parse
from rookery.core.stats.sprt import Sprt, SprtState
from rookery.server.farm.rules.assignment import (
    BatchFacts,
    batch_pairs,
    batch_pairs_by_time,
    batch_size,
    choose_task_size,
    expected_game_seconds,
    length_ratio,
    report_timeout,
    share,
    shares,
)
from rookery.server.farm.rules.observations import GamePace
from tests.makers import NOW, QUICK, make_machine, make_plan, make_run, pairs, sprt


def size(run: Run, cores: int, pace: GamePace | None = None) -> int:
    return choose_task_size(run, cores, expected_game_seconds(run, pace or GamePace()))


def with_committed(run: Run, committed: int) -> Run:
    return replace(run, tally=replace(run.tally, committed=committed))


@pytest.mark.parametrize(("cores", "games"), [(1, 64), (8, 480)])
def test_sizes_of_sequential_tests_are_the_contracts(cores: int, games: int) -> None:
    assert size(make_run(kind=sprt(batch=16)), cores) == games


def test_other_kinds_come_in_whole_pairs() -> None:
    assert size(make_run(), 1) == 58


def test_what_is_left_is_rounded_up_to_a_whole_batch() -> None:
    run = with_committed(make_run(kind=sprt(batch=16)), 40_000 - 10)
    assert size(run, 8) == 32


@QUICK
@given(st.integers(1, 128), st.integers(1, 50), st.integers(0, 39_999))
def test_every_size_is_positive_and_whole(cores: int, batch: int, committed: int) -> None:
    run = with_committed(make_run(kind=sprt(batch=batch)), committed)
    games = size(run, cores)
    assert games > 0
    assert games % (2 * batch) == 0
    assert games < run.remaining + 2 * batch


def test_measured_time_replaces_the_guess_within_reason_on_the_clock() -> None:
    run = make_run()
    assert size(run, 1, GamePace(games=100, seconds=60)) == 30
    assert size(run, 1, GamePace(games=5, seconds=60)) == 58
    assert size(run, 1, GamePace(games=100, seconds=0.001)) == 8 * 58 + 2


def test_nothing_but_measuring_tells_the_length_of_games_at_fixed_depth() -> None:
    run = make_run(plan=make_plan(tc="D=5"))
    assert size(run, 1) == 30
    assert size(run, 1, GamePace(games=100, seconds=1)) == 1800


def test_a_task_is_bounded_in_games_however_short_they_are() -> None:
    run = make_run(plan=make_plan(games=800_000, tc="D=1"))
    assert size(run, 512, GamePace(games=100, seconds=0.01)) == 50_000


def test_where_others_are_about_a_task_is_a_part_of_what_is_left() -> None:
    run = make_run(plan=make_plan(games=1000))
    seconds = expected_game_seconds(run, GamePace())
    assert choose_task_size(run, 64, seconds) == 1000
    assert choose_task_size(run, 64, seconds, shared=True) == 622, "five minutes' work"
    assert choose_task_size(run, 16, seconds, shared=True) == 250
    few = with_committed(run, 996)
    assert choose_task_size(few, 1, seconds, shared=True) == 4


def test_results_are_waited_for_by_the_expected_time_of_a_report() -> None:
    def minutes(tc: str, cores: int = 8, games: int = 2, nps: float = 0.0, batch: int = 8) -> float:
        run = make_run(plan=make_plan(tc=tc), kind=sprt(batch=batch))
        machine = make_machine(cores=cores, nps=nps)
        task = Task(run.id, 0, 0, 1000, machine, NOW, NOW, pairs(even=games // 2))
        return report_timeout(run, task, GamePace()) / 60

    assert minutes("10+0.1") == 15, "never less"
    assert minutes("10+0.1", games=0) == 60, "builds come first"
    assert minutes("60+0.6") == pytest.approx(4 * 4 * 3.09, rel=0.01)
    assert minutes("60+0.6", cores=1) == pytest.approx(4 * 16 * 3.09, rel=0.01), "a whole batch"
    assert minutes("60+0.6", nps=314_000) == pytest.approx(8 * 4 * 3.09, rel=0.01), "slower"
    assert minutes("60+0.6", nps=1e-9) == pytest.approx(64 * 4 * 3.09, rel=0.01), "within reason"
    assert minutes("3600+60") > 16 * 60 * 2
    assert minutes("D=40") == 6 * 60


def test_batches_are_the_contracts_or_a_minute_of_a_median_machine() -> None:
    assert [batch_pairs(ratio) for ratio in (1, 6, 0.1, 50)] == [16, 3, 160, 1]
    assert batch_pairs_by_time(slots=8, game_seconds=3) == 80
    assert batch_pairs_by_time(slots=1, game_seconds=300) == 1


def test_only_where_official_workers_play_does_a_batch_last_long() -> None:
    classic = make_run(plan=make_plan(tc="1+0.01")).demands
    ours = make_run(plan=make_plan(tc="1+0.01", engine="Tiny")).demands
    quick = BatchFacts(length_ratio=0.1, slots=1, game_seconds=3, expected_games=1e5)
    assert batch_size(classic, quick) == 16
    assert batch_size(classic, replace(quick, slots=8)) == 80
    assert batch_size(ours, quick) == 10
    assert batch_size(ours, replace(quick, length_ratio=6, slots=8)) == 3


@pytest.mark.parametrize(("ratio", "pairs"), [(1, 16), (6, 3), (4, 4)])
def test_the_usual_tests_have_the_contracts_batches(ratio: float, pairs: int) -> None:
    usual = BatchFacts(ratio, slots=4, game_seconds=31 * ratio, expected_games=160_000)
    assert batch_size(make_run().demands, usual) == pairs


@pytest.mark.parametrize(("games", "pairs"), [(400, 8), (34, 1), (1600, 32)])
def test_a_batch_is_a_small_part_of_a_short_test(games: float, pairs: int) -> None:
    facts = BatchFacts(length_ratio=0.001, slots=64, game_seconds=0.1, expected_games=games)
    for engine in ("Stockfish", "Tiny"):
        assert batch_size(make_run(plan=make_plan(engine=engine)).demands, facts) == pairs


def test_a_pace_follows_the_games() -> None:
    pace = GamePace().after(games=40, seconds=100, slots=4)
    assert pace.game_seconds(99) == pytest.approx(10)
    for _ in range(100):
        pace = pace.after(games=40, seconds=200, slots=4)
    assert pace.game_seconds(99) == pytest.approx(20, rel=0.01)


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
