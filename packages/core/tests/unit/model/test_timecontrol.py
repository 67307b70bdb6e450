"""Time controls are read in every form and printed in one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.model.timecontrol import (
    BadTimeControl,
    ClockControl,
    Depth,
    MoveTime,
    Nodes,
    TimeControl,
    base_seconds,
    is_classic,
    parse,
)
from tests.values import QUICK

NPS = 628_000


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("10+0.1", "10+0.1"),
        ("60.0+0.60", "60+0.6"),
        ("40/60+0.6", "40/60+0.6"),
        ("1:30+1", "90+1"),
        ("40/2:00", "40/120"),
        ("0+0.1", "0+0.1"),
        ("N=25000", "N=25000"),
        ("nodes=25000", "N=25000"),
        ("d=12", "D=12"),
        ("depth=12", "D=12"),
        ("MT=100", "MT=100"),
        ("movetime=250", "MT=250"),
        ("st=0.1", "MT=100"),
    ],
)
def test_every_form_has_one_printed_form(text: str, printed: str) -> None:
    assert str(parse(text)) == printed
    assert parse(printed) == parse(text)


@pytest.mark.parametrize(
    "text", ["", "10+", "+1", "0", "0/10", "-1", "N=0", "N=1.5", "x=3", "10+0.1;rm", "1e9", "٣"]
)
def test_what_is_no_time_control_is_refused(text: str) -> None:
    with pytest.raises(BadTimeControl, match="looks like"):
        parse(text)


controls = st.one_of(
    st.builds(
        ClockControl,
        st.integers(1, 10**6).map(lambda n: n / 1000),
        st.integers(0, 10**4).map(lambda n: n / 1000),
        st.none() | st.integers(1, 99),
    ),
    st.builds(Nodes, st.integers(1, 10**8)),
    st.builds(Depth, st.integers(1, 99)),
    st.builds(MoveTime, st.integers(1, 10**5).map(lambda n: n / 1000)),
)


@QUICK
@given(controls)
def test_what_is_printed_reads_back_as_the_same(tc: TimeControl) -> None:
    assert str(parse(str(tc))) == str(tc)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10+0.1", 30.912),
        ("60+0.6", 185.472),
        ("5+0.05", 15.456),
        ("20+0.2", 61.824),
        ("180+1.8", 556.416),
        ("40/10", 31.28),
        ("40/10+0.1", 43.792),
        ("MT=100", 13.6),
        ("D=10", 60.0),
    ],
)
def test_game_lengths_are_the_contracts(text: str, seconds: float) -> None:
    assert parse(text).game_seconds(NPS) == pytest.approx(seconds, abs=1e-9)


def test_a_game_of_fixed_nodes_lasts_as_long_as_the_machine_is_slow() -> None:
    assert Nodes(25_000).game_seconds(100_000) == pytest.approx(34)


def test_only_clocks_are_for_official_workers_and_scale_with_them() -> None:
    assert is_classic(parse("10+0.1"))
    assert not any(is_classic(parse(text)) for text in ("N=1000", "D=5", "MT=50"))
    assert str(parse("40/10+0.1").scaled(0.5)) == "40/5+0.05"
    assert parse("N=1000").scaled(0.5) == Nodes(1000)
    assert parse("D=5").scaled(0.5) == Depth(5)
    assert parse("MT=100").scaled(0.5) == MoveTime(0.05)


def test_the_base_of_moves_in_a_time_is_the_time() -> None:
    assert base_seconds(parse("40/10")) == 10
    assert base_seconds(parse("N=1000")) == 0


def test_a_game_may_last_as_long_as_the_worker_allows() -> None:
    assert parse("10+0.1").limit_seconds(NPS) == pytest.approx(50)
    assert parse("40/10+0.1").limit_seconds(NPS) == pytest.approx(125)
    assert parse("MT=100").limit_seconds(NPS) == pytest.approx(196)
    assert parse("D=3").limit_seconds(NPS) == pytest.approx(660)
    assert Nodes(NPS).limit_seconds(NPS) == pytest.approx(1420)
