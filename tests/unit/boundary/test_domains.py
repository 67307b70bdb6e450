"""Every part of the app says where it runs, or the app does not start."""

from functools import partial, wraps

import pytest

from rookery.boundary.domains import Declaration, Domain, Entry, declaration_of, inventory, runs
from rookery.boundary.errors import Undeclared


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
