"""`rookery boundaries` and its page in the docs keep up with the code."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from starlette.applications import Starlette

from rookery.bootstrap.app import create_app
from rookery.boundary.domains import Domain, measured_domain, text_table
from rookery.boundary.watch import LoopTime
from rookery.cli import boundaries
from rookery.settings import Settings
from rookery.web.house import House
from tests.twins.sites import house_in_memory

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "dev" / "boundaries.md"


def sketched() -> tuple[Starlette, House]:
    house = house_in_memory(Settings())
    return create_app(house), house


def measured(app: Starlette, house: House) -> Mapping[str, LoopTime]:
    async def measure() -> Mapping[str, LoopTime]:
        await house.fleet.open()
        async with app.router.lifespan_context(app):
            times = await boundaries.measure(app, house)
        await house.fleet.close()
        return times

    return asyncio.run(measure())


def test_the_page_is_what_the_code_declares() -> None:
    app, _house = sketched()
    assert PAGE.read_text() == boundaries.page(boundaries.inventory(app)), "run scripts/boundaries"


def test_every_job_is_described_for_operators() -> None:
    _app, house = sketched()
    rows = [line for line in (DOCS / "operate.md").read_text().splitlines() if line[:2] == "| "]
    told = {name.strip() for row in rows for name in row.split("|")[1].split(",")}
    assert [job.name for job in house.jobs if job.name not in told] == []


def test_every_job_is_in_the_inventory() -> None:
    app, house = sketched()
    listed = [one.name for one in boundaries.inventory(app) if one.kind == "job"]
    assert len(listed) == 18
    assert listed == [job.name for job in house.jobs]


def test_the_matrix_counts_every_entry_once() -> None:
    app, _house = sketched()
    head, rule, *rows = boundaries.page(boundaries.inventory(app)).split("\n\n")[2].splitlines()
    assert head == "| entry points | LOOP | LOOP CPU | THREAD | STREAM |"
    assert set(rule) == set("| -")
    counts = [int(cell) for row in rows for cell in row.split("|") if cell.strip().isdigit()]
    assert sum(counts) == len(boundaries.inventory(app))
    assert rows[0].startswith("| routes for workers |")


def test_the_table_shows_domains_and_measured_loop_time() -> None:
    app, house = sketched()
    shown = text_table(boundaries.inventory(app), measured(app, house))
    (line,) = [line for line in shown.splitlines() if " GET /healthz " in line]
    assert str(boundaries.CALLS) in line.split()
    assert " µs " in line


def test_what_is_declared_for_the_loop_was_not_seen_in_threads() -> None:
    app, house = sketched()
    times = measured(app, house)
    on_loop = [
        one.name
        for one in boundaries.inventory(app)
        if one.domain in {Domain.LOOP, Domain.LOOP_CPU} and one.name in times
    ]
    assert len(on_loop) > 20
    seen = {name: measured_domain(times[name]) for name in on_loop}
    assert [name for name, domain in seen.items() if domain is Domain.THREAD] == []


def test_what_is_declared_for_threads_was_seen_there() -> None:
    app, house = sketched()
    times = measured(app, house)
    jobs = {one.name: one.domain for one in boundaries.inventory(app) if one.kind == "job"}
    assert [job.name for job in house.jobs if job.done != 1] == []
    seen = {name for name in jobs if measured_domain(times[name]) is Domain.THREAD}
    assert seen == {name for name, domain in jobs.items() if domain is Domain.THREAD}


@pytest.mark.parametrize("domain", Domain)
def test_all_domains_are_in_use(domain: Domain) -> None:
    app, _house = sketched()
    assert domain in {entry.domain for entry in boundaries.inventory(app)}
