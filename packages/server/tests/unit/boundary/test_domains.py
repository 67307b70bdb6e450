"""Every part of the app says where it runs, and the inventory shows it to people."""

from functools import partial, wraps

import pytest

from rookery.core.boundary.errors import Undeclared
from rookery.core.boundary.watch import LoopTime
from rookery.server.boundary.domains import (
    Declaration,
    Domain,
    Entry,
    declaration_of,
    inventory,
    markdown_table,
    measured_domain,
    runs,
    text_table,
)


@runs(Domain.LOOP, "answers from memory")
async def healthz() -> str:
    return "ok"


@runs(Domain.LOOP, "reads a cookie")
class Session:
    @runs(Domain.THREAD, "renders a page")
    def page(self) -> str:
        return "page"


class Bolder(Session):
    pass


def undeclared() -> None:
    """Says nothing about where it runs."""


@wraps(healthz)
async def wrapped() -> str:
    return await healthz()


HEALTH = Declaration(Domain.LOOP, "answers from memory")


@pytest.mark.parametrize("part", [healthz, partial(healthz), partial(partial(healthz)), wrapped])
def test_a_function_keeps_its_declaration_through_partials_and_wrappers(part: object) -> None:
    assert declaration_of(part) == HEALTH


@pytest.mark.parametrize("part", [Session, Session()])
def test_a_class_and_its_instances_share_the_declaration(part: object) -> None:
    assert declaration_of(part) == Declaration(Domain.LOOP, "reads a cookie")


def test_a_method_has_its_own_declaration() -> None:
    assert declaration_of(Session().page) == Declaration(Domain.THREAD, "renders a page")


@pytest.mark.parametrize("part", [Bolder, Bolder(), undeclared, 7])
def test_nothing_is_declared_by_inheritance_or_by_accident(part: object) -> None:
    assert declaration_of(part) is None


def test_a_declaration_without_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="reason"):
        runs(Domain.LOOP, " ")


def test_the_inventory_keeps_the_order_of_the_app() -> None:
    parts = [("middleware", "Session", Session), ("route", "GET /healthz", healthz)]
    assert inventory(parts) == (
        Entry("middleware", "Session", Domain.LOOP, "reads a cookie"),
        Entry("route", "GET /healthz", Domain.LOOP, "answers from memory"),
    )


def test_every_missing_declaration_is_named() -> None:
    parts = [("route", "GET /a", undeclared), ("job", "sweep", healthz), ("job", "b", undeclared)]
    with pytest.raises(Undeclared, match="route GET /a, job b"):
        inventory(parts)


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


def test_a_table_escapes_its_own_signs() -> None:
    shown = markdown_table(("name", "why"), [("`pool`", "opens | waits")])
    assert shown.splitlines()[2:] == [r"| `pool` | opens \| waits |"]


def test_what_only_the_primary_runs_is_marked() -> None:
    beat = Entry("route", "POST /api/beat", Domain.LOOP, "a time", needs_primary=True)
    assert "LOOP, primary" in text_table([beat])


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
