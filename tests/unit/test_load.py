"""The load generator comes when it should, and knows when its own figures are worth nothing."""

import pytest

from tests.fleet.arrivals import MISSION, Arrivals, evenly
from tests.fleet.crowd import CheapWorker, Mix, address_of
from tests.fleet.figures import MOST_LAG_SECONDS, Figures, lag_line, percentile, table


def test_workers_arrive_as_in_the_burst_of_the_mission() -> None:
    moments = list(Arrivals(MISSION).moments())
    assert moments == sorted(moments)
    assert len(moments) == 9_423
    there = [sum(moment <= 60 * minute for moment in moments) for minute in (1, 18, 33, 36, 63)]
    assert there[1:] == [4_608, 9_116, 9_418, 9_423]
    assert 205 < there[0] < 400


def test_a_try_is_the_same_curve_in_less_time() -> None:
    assert list(evenly(4, 8.0).faster(2).moments()) == [1.0, 2.0, 3.0, 4.0]
    assert Arrivals(MISSION).faster(1, share=0.1).workers == 942


def test_a_hundred_thousand_workers_call_about_thirteen_hundred_times_a_second() -> None:
    assert 100_000 * Mix().calls == pytest.approx(1_300, rel=0.01)


def test_every_worker_has_an_address_of_its_own_on_this_machine() -> None:
    addresses = {address_of(number) for number in range(100_000)}
    assert len(addresses) == 100_000
    assert all(address.startswith("127.") for address in addresses)
    assert "127.0.0.1" not in addresses


@pytest.mark.parametrize(("late", "void"), [(MOST_LAG_SECONDS / 2, False), (0.5, True)])
def test_a_minute_in_which_the_generator_lagged_is_void(late: float, void: bool) -> None:
    figures = Figures()
    for number in range(100):
        figures.note_lag(float(number), number + late)
    assert figures.minutes[0].is_void is void
    assert len(figures.sound(0, 1)) == (not void)
    assert f"{int(void)} of 1 minutes void" in lag_line(figures.chosen(0, 1))


def test_each_endpoint_has_a_row_with_its_times_and_refusals() -> None:
    figures = Figures()
    for number in range(100):
        figures.note_answer("beat", 1.0, 1.0 + number / 1000)
    figures.note("beat", "503", 2.0)
    figures.note("request_task", "busy", 2.0)
    rows = list(table(figures, figures.chosen(), 50.0))
    assert rows[2] == "| beat | 100 | 2.0 | 50.0 | 99.0 | 99 | 0 | 1 | 0 | 0 |"
    assert "| 1 | 0 | 0 | 0 |" in rows[5]


def test_there_may_be_nothing_to_take_a_percentile_of() -> None:
    assert percentile([], 0.99) == 0.0


def test_a_request_says_how_long_its_body_is() -> None:
    head, _, body = CheapWorker(7, "wanda", "secret").request("request_task").partition(b"\r\n\r\n")
    assert head.endswith(b"content-length: %d" % len(body))
    assert b"x-forwarded-for: 127.1.0.8\r\n" in head
