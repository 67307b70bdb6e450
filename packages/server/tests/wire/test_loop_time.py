"""`rookery boundaries` is true for those who are logged in, with parameters, on a farm at work.

Every call of the tables in authorisation/ is made by a browser that is logged in and with a token,
and every call of workers with a password and with a token; then every job is done. What computes
on the loop for more than a millisecond has to say so. It counts CPU time of the loop's thread, and
the best of several calls: neither a busy machine nor what is done once makes a call dear.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import thread_time

import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.engine import STANDARD
from rookery.core.model.run import create
from rookery.server.app.jobs import make_jobs
from rookery.server.app.routes import declared_inventory
from rookery.server.app.steps import BRIDGE, EVENTS, FLEET, STEPS
from rookery.server.boundary.domains import COMPUTES_SECONDS, Domain, Entry
from rookery.server.farm.jobs import PeriodicJob, attempt
from rookery.server.identity.users import Scope
from tests.fakes import RecordedLog
from tests.makers import make_machine, make_plan, run_id, spsa
from tests.people import BORIS, SVEN
from tests.twins.sites import PASSWORD, MemorySite
from tests.wire.own_times import Call, CallMeter, measure_layers, measure_rows
from tests.wire.secrets.plants import worker_of
from tests.wire.test_authorisation import OPENING, ROWS, Row, Scene, open_scene
from tests.wire.worker.farm import Worker
from tests.wire.worker.test_private_runs import CALLS

RUNS, MACHINES = 100, 500
LEAST_CALLS, MOST_CALLS = 3, 15
"""How often a call is made; more often than the least only while it seems to be dear."""
VISITED_SHARE = 0.9
UNVISITED = frozenset(
    {
        # The site in memory has no database, no other processes, and no files of an earlier start.
        *(("step", step.name) for step in STEPS if step not in (BRIDGE, FLEET, EVENTS)),
        # What these take stands in a mail, or they need a place outside that can be reached.
        ("route", "GET /confirm"),
        ("route", "GET /login/new-password"),
        ("route", "GET /unsubscribe"),
        ("route", "POST /confirm"),
        ("route", "POST /login/new-password"),
        ("route", "POST /unsubscribe"),
        ("route", "POST /api/v1/unsubscribe"),
        ("route", "POST /profile/confirm"),
        ("route", "POST /api/v1/notifications/channels"),
        ("route", "POST /profile/notifications/webhooks"),
        ("route", "DELETE /api/v1/notifications/channels/{channel_id:int}"),
        # No game of the farm is kept with its moves.
        ("route", "GET /runs/{run_id}/games/{task_id}/{number}"),
    }
)
"""What no call here reaches, or what refuses every call; the time of a refusal counts, too."""
IN_THREADS_TOO = frozenset({"Errors", "HTTPException"})
"""Declared for the loop, with a reason that tells of a page that a thread renders."""
USUAL_SPEED_SECONDS = 0.0015
"""What `_slowness` computes takes so long where a millisecond was found to be a fair limit."""


@dataclass(slots=True)
class Figures:
    """What a part did in the dearest of its kinds of call, and whether any was not refused."""

    seconds: float = 0.0
    """On the loop, per call to a thread where there are several: each has to be prepared."""
    of: str = ""
    threads: int = 0
    answered: bool = False


@dataclass(slots=True)
class Survey:
    """The figures of every part that took part in a call."""

    meter: CallMeter
    limit: float
    figures: dict[str, Figures] = field(default_factory=dict)
    steps: set[tuple[str, str]] = field(default_factory=set)
    """The steps of its start that the site has taken."""

    async def visit(self, of: str, act: Callable[[], Awaitable[str]]) -> None:
        """Make a call, whose answer is `ok`, `to` or a status, several times."""
        best: dict[str, Call] = {}
        self.meter.take()
        for number in range(MOST_CALLS):
            answer = await act()
            # Answers from memory await nothing; without this, all of them would be one callback.
            await asyncio.sleep(0)
            for call in self.meter.take():
                if call.name in best:
                    best[call.name].lower(call)
                else:
                    best[call.name] = call
            if number + 1 >= LEAST_CALLS and not self._is_dear(best):
                break
        for call in best.values():
            self._enter(of, call, answered=answer in ("ok", "to"))

    def list_found(self) -> Iterator[tuple[Entry, Figures]]:
        """Every declared part that took part in a call, with its figures. A step is not a job of
        the same name."""
        for entry in declared_inventory():
            if entry.kind != "step" and entry.name in self.figures:
                yield entry, self.figures[entry.name]

    def _is_dear(self, calls: Mapping[str, Call]) -> bool:
        return any(call.seconds_per_thread > self.limit for call in calls.values())

    def _enter(self, of: str, call: Call, *, answered: bool) -> None:
        found = self.figures.setdefault(call.name, Figures())
        found.answered |= answered
        found.threads = max(found.threads, call.threads)
        if call.times >= LEAST_CALLS and call.seconds_per_thread > found.seconds:
            found.seconds, found.of = call.seconds_per_thread, of


async def _populate(scene: Scene) -> None:
    """A farm at work: as many finished as unfinished runs, and machines of many users."""
    api, chief = scene.api, Actor("boris", approver=True)
    for number in range(2 * RUNS):
        run = await api.submitted(BORIS, mirrored=True, resolved_new="d" * 40, num_games=100_000)
        if number % 2:
            await api.fleet.commands.stop(run, chief)
            await api.site.users.add(replace(SVEN, name=f"user{number}"))
    for number in range(MACHINES):
        user, key = f"user{number % RUNS}", f"{number:08}-1-2-3-4"
        await api.granted(make_machine(user=user, key=key))


async def _visit_rows(survey: Survey, scene: Scene) -> None:
    for row in ROWS:
        for role in _callers_of(row):
            await survey.visit(f"{row.words} by {role}", partial(scene.status, row, role))


def _callers_of(row: Row) -> Iterator[str]:
    """A browser and a token, of those who are answered if there are any."""
    for roles in (("lses", "csrf", "sess"), ("ownr", "lead", "admn", "wrkr")):
        yield next((role for role in roles if row.expected[role] in ("ok", "to")), roles[0])


async def _visit_more(survey: Survey, scene: Scene) -> None:
    """What the tables only show to be refused, by a browser that is logged in."""
    chats = scene.api.site.ask.chats
    chat = (await chats.create("lena", "Razors", temporary=False)).id
    home = (await scene.api.visitor.get("/")).text
    style = home[home.index("/static/") :].partition('"')[0]
    tune = f"/runs/{run_id('tune')}"
    for path in (style, tune, f"{tune}/live", f"/api/v1{tune}/tune", f"/api/v1{tune}/diagnosis"):
        await survey.visit(f"GET {path}", partial(_browse, scene, path))
    new = {"password": PASSWORD, "password2": PASSWORD}
    mail = {"email": "lena@example.org"}
    forms: dict[str, dict[str, str]] = {
        f"/ask/{chat}/rename": {"title": "Owls"},
        "/profile/email": {"present_password_email": PASSWORD, **mail},
        "/user": {"old_password": PASSWORD, **new, **mail},
        "/profile/password": {"present_password_password": PASSWORD, **new},
    }
    files = {"/books": ("book", "own.epd", OPENING), "/programs": ("program", "own", b"#!own")}
    for path in (*files, *forms):
        fields, given = forms.get(path, {}), files.get(path)
        await survey.visit(f"POST {path}", partial(_fill_in, scene, path, fields, given))


async def _browse(scene: Scene, path: str) -> str:
    cookie = (await scene.headers("lses"))["cookie"]
    answer = await scene.api.visitor.get(path, headers={"cookie": cookie})
    return "ok" if answer.status_code < 400 else str(answer.status_code)


async def _fill_in(
    scene: Scene, path: str, fields: dict[str, str], file: tuple[str, str, bytes] | None
) -> str:
    """Send a form, with a file in one of its fields."""
    # The one before may have ended all sessions.
    scene.browsers.clear()
    scene.api.visitor.cookies.clear()
    headers = await scene.headers("lses")
    answer = await scene.api.visitor.post(
        path,
        data={"csrf_token": headers["x-csrf-token"], **fields},
        files=None if file is None else {file[0]: file[1:]},
        headers={"cookie": headers["cookie"]},
    )
    return "ok" if answer.status_code < 400 else str(answer.status_code)


async def _visit_workers(survey: Survey, scene: Scene) -> None:
    """Every call of a worker, about a test and about a tune."""
    token = await scene.api.token(BORIS, frozenset({Scope.WORKER}))
    for kind in ("test", "tune"):
        for name, secret in (("password", PASSWORD), ("token", token)):
            worker = worker_of(scene.api, BORIS, secrets.token_hex(4))
            worker.password = secret
            for path in ("request_version", "request_task", *CALLS):
                words = f"{path} of a {kind} with a {name}"
                await survey.visit(words, partial(_call, worker, path))
        tune = create(run_id("tune"), make_plan(), spsa(100_000), STANDARD, scene.api.clock.now())
        await scene.api.fleet.commands.submit(tune, approver="boris")


async def _call(worker: Worker, path: str) -> str:
    await worker.request_task()
    answer = await worker.send(path, worker.body(**worker.ids, **CALLS.get(path, {})))
    return "ok" if answer.status_code == 200 else str(answer.status_code)


async def _visit_jobs(survey: Survey, site: MemorySite) -> None:
    for job in site.jobs:
        await survey.visit(f"the job {job.name}", partial(_do, job, site, survey.meter))


async def _do(job: PeriodicJob, site: MemorySite, meter: CallMeter) -> str:
    before = job.done
    await meter.measure(job.name, attempt(job, site.log))
    return "ok" if job.done > before else "failed"


@asynccontextmanager
async def _open_survey(folder: Path) -> AsyncIterator[tuple[Survey, Scene]]:
    meter = CallMeter()

    def change(site: MemorySite) -> None:
        site.meter, site.jobs = meter, make_jobs(site)

    async with open_scene(folder, change) as scene:
        await _populate(scene)
        measure_rows(scene.api.site.reads, meter)
        measure_layers(scene.api.app, meter)
        survey = Survey(meter, COMPUTES_SECONDS * max(1.0, _slowness()))
        survey.steps.update(_steps_taken(scene.api.site))
        yield survey, scene


def _steps_taken(site: MemorySite) -> Iterator[tuple[str, str]]:
    """As the log of the start tells."""
    log = site.process.log
    assert isinstance(log, RecordedLog)
    for event, fields in log.lines:
        if event == "step_up":
            yield "step", str(fields["step"])


def _slowness() -> float:
    """How many times as long as usual this processor takes for Python."""

    def spent() -> float:
        began = thread_time()
        sorted({str(number): number for number in range(5000)}.items(), key=str)
        return thread_time() - began

    return min(spent() for _ in range(20)) / USUAL_SPEED_SECONDS


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    async def look() -> Survey:
        async with _open_survey(tmp_path_factory.mktemp("farm")) as (survey, scene):
            await _visit_workers(survey, scene)
            await _visit_rows(survey, scene)
            await _visit_more(survey, scene)
            await _visit_jobs(survey, scene.api.site)
            return survey

    return asyncio.run(look())


def test_what_computes_on_the_loop_says_so(survey: Survey) -> None:
    wrong = [
        f"{entry.kind} {entry.name}, {entry.domain.value}: {found.seconds * 1e6:.0f} µs on the loop"
        f" for {found.of}"
        for entry, found in survey.list_found()
        if entry.domain is not Domain.LOOP_CPU and found.seconds > survey.limit
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_what_is_declared_for_the_loop_calls_no_threads(survey: Survey) -> None:
    seen = {
        entry.name
        for entry, found in survey.list_found()
        if entry.domain is Domain.LOOP and found.threads
    }
    assert seen == IN_THREADS_TOO


def test_nine_of_ten_declared_parts_were_visited(survey: Survey) -> None:
    entries = declared_inventory()
    visited = {
        (entry.kind, entry.name)
        for entry, found in survey.list_found()
        if found.answered or entry.kind == "error handler"
    }
    missed = {(entry.kind, entry.name) for entry in entries} - visited - survey.steps
    assert missed == UNVISITED
    assert len(missed) <= len(entries) * (1 - VISITED_SHARE)
