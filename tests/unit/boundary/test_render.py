"""The inventory as people read it."""

import pytest

from rookery.boundary.domains import Domain, Entry, markdown_inventory, measured_domain, text_table
from rookery.boundary.watch import LoopTime

ENTRIES = (
    Entry("route", "GET /healthz", Domain.LOOP, "a constant"),
    Entry("lifespan", "pool", Domain.THREAD, "opens | waits"),
)


def test_the_columns_of_the_text_are_aligned() -> None:
    assert text_table(ENTRIES).splitlines() == [
        "KIND      NAME          DOMAIN  WHY",
        "route     GET /healthz  LOOP    a constant",
        "lifespan  pool          THREAD  opens | waits",
    ]


def test_measured_loop_time_is_shown_where_there_is_some() -> None:
    table = text_table(ENTRIES, {"GET /healthz": LoopTime(2, 0.0003, 0.0002)})
    assert " ".join(table.splitlines()[1].split()) == (
        "route GET /healthz LOOP LOOP 2 150 µs 200 µs a constant"
    )


def test_the_markdown_has_no_figures_and_escapes_its_own_signs() -> None:
    assert markdown_inventory(ENTRIES).splitlines()[2:] == [
        "| route | `GET /healthz` | LOOP | a constant |",
        r"| lifespan | `pool` | THREAD | opens \| waits |",
    ]


@pytest.mark.parametrize(
    ("time", "domain"),
    [
        (LoopTime(10, 0.001, 0.001), Domain.LOOP),
        (LoopTime(10, 0.01, 0.001), Domain.LOOP_CPU),
        (LoopTime(10, 0.001, 0.001, threads=1), Domain.LOOP),
        (LoopTime(10, 0.01, 0.001, threads=10), Domain.THREAD),
    ],
)
def test_the_measured_domain_is_told_by_threads_and_by_time(time: LoopTime, domain: Domain) -> None:
    assert measured_domain(time) is domain
