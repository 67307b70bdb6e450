"""`rookery boundaries` and its page in the docs keep up with the code."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from starlette.applications import Starlette

from rookery.cli.main import main
from rookery.core.boundary.watch import LoopTime
from rookery.server.app.jobs import JOBS, make_jobs
from rookery.server.app.routes import MIDDLEWARE, create_app, declared_inventory
from rookery.server.boundary.domains import Domain, declaration_of, measured_domain, text_table
from rookery.server.commands import boundaries
from rookery.server.files.ownership import NoMark
from rookery.server.http.inventory import named_routes
from rookery.server.servers.instances import OtherInstances
from tests.forks import run_forked
from tests.makers import grant, make_machine, make_run, working_with
from tests.people import OLGA
from tests.places import PROJECT
from tests.rookery_process import COMMAND, environment
from tests.twins.farm import MemoryStore
from tests.twins.farm_commits import MemoryRows
from tests.twins.sites import SETTINGS, MemorySite, make_site, running

DOCS = PROJECT / "docs"
PAGE = DOCS / "dev" / "boundaries.md"
Measured = tuple[MemorySite, Mapping[str, LoopTime]]


FISHTEST_PAGES = {
    "GET /tests": "GET /",
    "GET /tests/finished": "GET /tests",
    "GET /tests/user/{name}": "GET /tests",
    "GET /tests/view/{id}": "GET /runs/{run_id}",
    "GET /tests/tasks/{id}": "GET /runs/{run_id}/tasks",
    "GET /tests/stats/{id}": "GET /runs/{run_id}/stats",
    "GET /tests/live_elo/{id}": "GET /runs/{run_id}/elo",
    "GET,POST /tests/run": "GET,POST /tests/new",
    "POST /tests/approve": "POST /runs/{run_id}/{command}",
    "POST /tests/modify": "POST /runs/{run_id}/{command}",
    "POST /tests/stop": "POST /runs/{run_id}/{command}",
    "POST /tests/purge": "POST /runs/{run_id}/{command}",
    "POST /tests/delete": "POST /runs/{run_id}/{command}",
    "GET /tests/machines": "GET /machines",
    "GET /workers/{name}": "GET /machines/{worker}",
    "POST /workers/{name}": "POST /machines/{worker}/block",
    "GET /actions": "GET /log",
    "GET /contributors": "GET /contributors",
    "GET /contributors/monthly": "GET /contributors",
    "GET /nns": "GET /nets",
    "GET,POST /upload": "GET,POST /upload",
    "GET /sprt_calc": "GET /sprt",
    "GET /tests/view/{id}/detail": "GET /runs/{run_id}",
    "GET /tests/live_elo_update/{id}": "GET /api/get_elo/{run_id}",
    "GET /rate_limits": "GET /server",
    "GET /rate_limits/server": "GET /api/rate_limit",
    "GET /user_management/pending_count": "GET /users",
    "GET,POST /login": "GET,POST /login",
    "POST /logout": "POST /logout",
    "GET,POST /signup": "GET,POST /signup",
    "GET /user": "GET /profile",
    "POST /user": "POST /profile/password",
    "GET /user/{name}": "GET /users/{user}",
    "POST /user/{name}": "POST /users/{user}/{command}",
    "GET /user_management": "GET /users",
}
"""fishtest's pages, each with the one here that corresponds to it."""


def sketched() -> tuple[Starlette, MemorySite]:
    # Nobody takes mail there: what sends a letter is seen in a thread.
    mail = replace(SETTINGS, smtp_host="127.0.0.1", smtp_port=9, mail_from="r@example.org")
    # A task is at play: what compares those of one run is seen in a thread, too.
    run = make_run("played")
    task = grant(working_with(run), make_machine())
    site = make_site(mail, store=MemoryStore(MemoryRows({run.id: run}, {(run.id, task.id): task})))
    # A place of files, whose mark is read in a thread.
    site.file_owners.add("memory", NoMark())
    site.jobs = make_jobs(site)
    return create_app(site), site


@pytest.fixture(scope="module")
def measured() -> Measured:
    """A site of which every part was at work, and what that took of the loop."""
    app, site = sketched()
    # One that is alone publishes nothing.
    site.other_instances = lambda: OtherInstances(others=1)

    async def measure() -> Mapping[str, LoopTime]:
        async with running(site):
            await site.users.add(OLGA)
            await site.link_mails.post_confirmation(OLGA)
            return await boundaries.measure(app, site)

    return site, asyncio.run(measure())


def test_the_page_is_what_the_code_declares(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["boundaries", "--markdown"]) == 0
    assert PAGE.read_text() == capsys.readouterr().out, "run scripts/boundaries"


def test_the_digest_changes_with_a_reason_and_with_who_may_do_it() -> None:
    first, *others = declared_inventory()
    digests = {
        boundaries.digest((changed, *others))
        for changed in (
            first,
            replace(first, why="another reason"),
            replace(first, needs_primary=not first.needs_primary),
        )
    }
    assert len(digests) == 3


def test_the_command_tells_which_servers_do_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["boundaries", "--jobs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("dead tasks ") and " primary " in line]
    assert len(lines) == len(JOBS) + 1


def test_the_command_measures_where_that_is_asked_for() -> None:
    for words in ((), ("--measured",)):
        shown = run_forked([*COMMAND, "boundaries", *words], env=environment()).stdout
        (line,) = [line for line in shown.splitlines() if " GET /healthz " in line]
        assert (" µs " in line) is bool(words)


def test_every_job_is_described_for_operators() -> None:
    rows = [line for line in (DOCS / "operate.md").read_text().splitlines() if line[:2] == "| "]
    told = {name.strip() for row in rows for name in row.split("|")[1].split(",")}
    assert [job.name for job in JOBS if job.name not in told] == []


def test_every_job_is_in_the_inventory() -> None:
    _app, site = sketched()
    listed = [one.name for one in declared_inventory() if one.kind == "job"]
    assert len(listed) == len(JOBS)
    assert listed == [job.name for job in site.jobs]


def test_the_matrix_counts_every_entry_once() -> None:
    head, rule, *rows = boundaries.page(declared_inventory()).split("\n\n")[2].splitlines()
    assert head == "| entry points | LOOP | LOOP CPU | THREAD | STREAM |"
    assert set(rule) == set("| -")
    counts = [int(cell) for row in rows for cell in row.split("|") if cell.strip().isdigit()]
    assert sum(counts) == len(declared_inventory())
    assert rows[0].startswith("| routes for workers |")


def test_the_table_shows_domains_and_measured_loop_time(measured: Measured) -> None:
    shown = text_table(declared_inventory(), measured[1])
    (line,) = [line for line in shown.splitlines() if " GET /healthz " in line]
    assert str(boundaries.CALLS) in line.split()
    assert " µs " in line


def test_what_is_declared_for_the_loop_was_not_seen_in_threads(measured: Measured) -> None:
    _, times = measured
    on_loop = [
        one.name
        for one in declared_inventory()
        if one.domain in {Domain.LOOP, Domain.LOOP_CPU} and one.name in times
    ]
    assert len(on_loop) > 20
    seen = {name: measured_domain(times[name]) for name in on_loop}
    assert [name for name, domain in seen.items() if domain is Domain.THREAD] == []


def test_what_is_declared_for_threads_was_seen_there(measured: Measured) -> None:
    site, times = measured
    jobs = {one.name: one.domain for one in declared_inventory() if one.kind == "job"}
    assert [job.name for job in site.jobs if job.done != 1] == []
    seen = {name for name in jobs if measured_domain(times[name]) is Domain.THREAD}
    assert seen == {name for name, domain in jobs.items() if domain is Domain.THREAD}


@pytest.mark.parametrize("domain", Domain)
def test_all_domains_are_in_use(domain: Domain) -> None:
    assert domain in {entry.domain for entry in declared_inventory()}


def test_a_job_runs_where_its_part_says() -> None:
    _app, site = sketched()
    told = [declaration_of(job.part) for job in JOBS]
    assert [declaration_of(job.work) for job in site.jobs] == told


def test_an_app_has_no_part_that_the_inventory_does_not_list() -> None:
    app, _site = sketched()
    listed = {(one.kind, one.name) for one in declared_inventory()}
    assert {("route", name) for name, _ in named_routes(app.routes)} <= listed
    assert tuple(layer.cls for layer in app.user_middleware) == MIDDLEWARE


def test_every_page_of_fishtest_has_one_here_and_its_address_is_answered() -> None:
    routes = [one.name for one in declared_inventory() if one.kind == "route"]
    known = {shape for name in routes for shape in shapes_of(name)}
    pairs = FISHTEST_PAGES.items()
    assert [theirs for theirs, _ in pairs if not known.issuperset(shapes_of(theirs))] == []
    assert [ours for _, ours in pairs if not known.issuperset(shapes_of(ours))] == []


def shapes_of(name: str) -> Iterator[tuple[str, str]]:
    """Each method of a route with its path, with the names of path parameters replaced."""
    methods, _, path = name.rpartition(" ")
    parts = ("{}" if part.startswith("{") else part for part in path.split("/"))
    shape = "/".join(parts)
    for method in methods.split(","):
        yield method, shape
