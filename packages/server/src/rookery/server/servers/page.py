"""The state of this server: readiness, role, limits and, for approvers, jobs, queues, threads and
disk."""

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.protocol.user_documents import QuotaDocument
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.lease import LeaseRow
from rookery.server.farm.commits import StateLost
from rookery.server.farm.jobs import JobPlace, PeriodicJob
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.run_row import StatusLabel, Tone
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import ADDRESS_DIVISOR, LARGE_AT_ONCE
from rookery.server.http.faults import Forbidden
from rookery.server.http.limits import RequestBounds
from rookery.server.http.metrics import MetricsSnapshot
from rookery.server.http.pages.formatting import (
    DAY,
    HOUR,
    Moment,
    format_ago,
    format_bytes,
    format_count,
    format_duration,
    format_plural,
)
from rookery.server.http.pages.page import redirect_to, render_page_in_thread, viewer_of
from rookery.server.http.scope import request_info_of, session_of
from rookery.server.http.turns import SEARCHES_AT_ONCE
from rookery.server.people.login import (
    LOGINS_PER_NAME,
    PASSWORDS_PER_ADDRESS,
    PASSWORDS_PER_NAME,
    RESETS_PER_ADDRESS,
    RESETS_PER_NAME,
    SIGN_UPS_PER_ADDRESS,
    Frequency,
)
from rookery.server.people.profiles import LINK_MAILS, NEW_ADDRESSES, TRIALS
from rookery.server.servers.instances import Instance, NoStepDown, StepDown, check_step_down
from rookery.server.servers.probes import take_snapshot
from rookery.server.settings import Settings

HERE = "/server"
READY = StatusLabel("ready", Tone.GREEN, "✓")
NOT_READY = StatusLabel("not ready", Tone.RED, "▲")
PLENTY = 2**60
EPOCH = "counts takeovers, rows read anew after a failed commit, and restores"
Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ServerData:
    """The data for the page. `quota` is for logged-in users; `snapshot` and the fields after it are
    for approvers."""

    now: datetime
    reason: str
    warning: str
    primary: bool
    version: str
    runs: int
    workers: int
    cores: int
    waiting: int
    as_of: str
    settings: Settings
    bounds: RequestBounds
    quota: QuotaDocument | None = None
    snapshot: MetricsSnapshot | None = None
    lease: LeaseRow | None = None
    instances: tuple[Instance, ...] = ()
    files_trouble: str = ""
    free: int = 0
    reserve: int = 0


@dataclass(frozen=True, slots=True)
class JobRow:
    name: str
    every: str
    status: StatusLabel
    last: Moment | None
    took: str
    error: str


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """A server process on the same database, as a row of a table."""

    name: str
    address: str
    status: StatusLabel
    version: str
    started: Moment
    figures: tuple[Fact, ...]
    may_be_primary: bool


@dataclass(frozen=True, slots=True)
class ServerView:
    status: StatusLabel
    reason: str
    role: str
    figures: tuple[Fact, ...]
    as_of: str
    """The age of the fleet's figures, if another server has sent them."""
    limits: tuple[Fact, ...]
    rates: tuple[Fact, ...]
    """How often actions may be repeated."""
    groups: tuple[tuple[str, tuple[Fact, ...]], ...]
    jobs: tuple[JobRow, ...]
    instances: tuple[InstanceRow, ...] = ()


@runs(Domain.THREAD, "a snapshot on the loop, rendered in a thread")
async def server_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    data = await _load(site, viewer)
    status = 503 if data.reason else 200
    return await render_page_in_thread(request, "server.html", make_server_view, data, status)


@runs(Domain.LOOP, "reads the lease and the servers, and tells the primary by the database")
async def make_primary(request: Request) -> Response:
    """Make the primary step down for another server, as `rookery step-down` does."""
    site, viewer = site_of(request), await viewer_of(request)
    if viewer is None or not viewer.approver:
        raise Forbidden("Only an approver may do this.")
    to, session = request_info_of(request.scope).form.text("to"), session_of(request.scope)
    try:
        lease = await site.read_lease()
        if lease is None:
            raise NoStepDown("This server keeps no lease: it is the only one.")
        check_step_down(lease, await site.instances.list_all(), to)
    except NoStepDown as refused:
        session.flash(str(refused), "error")
        return redirect_to(HERE)
    await site.instances.ask_step_down(StepDown(lease.holder, to))
    site.log.info("step_down_asked", by=viewer.name, holder=lease.holder, to=to)
    session.flash(f"{lease.holder} was asked to let {to or 'another server'} be primary.")
    return redirect_to(HERE)


async def _load(site: Site, viewer: Actor | None) -> ServerData:
    with_details = viewer is not None and viewer.approver
    reason = await site.readiness.reason_against()
    try:
        active = () if reason else await site.fleet.views.active()
    except (Rebuilding, StateLost):
        active, reason = (), "it is taking over"
    return ServerData(
        now=site.clock.now(),
        reason=reason,
        warning="" if reason else site.readiness.warning,
        primary=site.is_primary(),
        version=site.version,
        runs=len(active),
        workers=sum(run.tally.workers for run in active),
        cores=sum(run.tally.cores for run in active),
        waiting=site.fleet.activity.waiting_machines,
        as_of=site.activity_keeping.describe_moment(),
        settings=site.settings,
        bounds=site.limits,
        quota=site.github_quota() if viewer is not None else None,
        snapshot=take_snapshot(site) if with_details else None,
        lease=await site.read_lease() if with_details and not reason else None,
        instances=await site.instances.list_all() if with_details and not reason else (),
        files_trouble=site.file_owners.describe_trouble(),
        free=site.disk.free,
        reserve=site.disk.reserve,
    )


def make_server_view(data: ServerData) -> ServerView:
    return ServerView(
        status=NOT_READY if data.reason else READY,
        reason=data.reason or data.warning,
        role="primary" if data.primary else "secondary",
        figures=(
            ("unfinished tests", format_count(data.runs)),
            ("workers", format_count(data.workers)),
            ("cores", format_count(data.cores)),
            ("waiting machines", format_count(data.waiting)),
        ),
        as_of=f"Waiting machines and speeds: {data.as_of}." if data.as_of else "",
        limits=tuple(_list_limits(data)),
        rates=tuple(_list_rates(data)),
        groups=tuple(_list_groups(data)),
        jobs=tuple(_list_jobs(data)),
        instances=tuple(_describe_instance(each, data.now) for each in data.instances),
    )


def _list_limits(data: ServerData) -> Iterator[Fact]:
    """Limits that authors of scripts should know."""
    settings, bounds = data.settings, data.bounds
    yield "Version", f"Rookery {data.version}"
    yield "A request", f"up to {format_bytes(bounds.body_bytes)}, {bounds.body_seconds:.0f} s"
    yield "An upload", f"up to {format_bytes(settings.upload_mb * 1e6)}"
    kept = settings.upload_quota_mb
    yield "Files per user", f"up to {format_bytes(kept * 1e6)}" if kept else "no limit"
    yield "Open event streams", f"up to {format_count(settings.event_streams)}"
    yield "Cores per user", f"up to {format_count(settings.cores_per_user)}"
    yield "Sign-up", "open" if settings.sign_up else "by the operator"
    yield "Approval", "by another approver" if settings.cross_approval else "by any approver"


def _list_rates(data: ServerData) -> Iterator[Fact]:
    """Rates above which calls are refused with 429, and what GitHub allows this server."""
    settings = data.settings
    passwords = f"{_per(PASSWORDS_PER_ADDRESS)} per address"
    yield "Wrong passwords", f"{passwords}, {_per(PASSWORDS_PER_NAME)} per name"
    yield "Log-ins", f"{_per(LOGINS_PER_NAME)} per user"
    if settings.sign_up:
        yield "Sign-ups", f"{_per(SIGN_UPS_PER_ADDRESS)} per address"
    resets = f"{_per(RESETS_PER_ADDRESS)} per address"
    yield "Password reset links", f"{resets}, {_per(RESETS_PER_NAME)} per name"
    yield "E-mail address changes", f"{_per(NEW_ADDRESSES)} per user"
    yield "Confirmation links", f"{_per(LINK_MAILS)} per user"
    yield "Webhooks tried", f"{_per(TRIALS)} per user"
    asked = settings.ask_visitor_questions
    visitors = f"{_per(Frequency(asked, HOUR))} per address" if asked else "none"
    yield "Questions without an account", visitors
    told = settings.ask_model_questions
    if settings.ask_model_url:
        people = f"{_per(Frequency(told, DAY))} per user" if told else "no limit"
        yield "Questions to the model", people
    yield "Searches in the whole history", f"{SEARCHES_AT_ONCE} at once"
    yield "Large uploads", f"{LARGE_AT_ONCE} at once, {LARGE_AT_ONCE // 2} per user"
    streams = max(1, settings.event_streams // ADDRESS_DIVISOR)
    yield "Event streams", f"{format_count(streams)} per address"
    yield "API calls with a token", "no limit; searches and uploads as above"
    if data.quota:
        yield from _list_quota(data.quota, data.now)


def _per(allowed: Frequency) -> str:
    words: dict[float, str] = {HOUR: "an hour", DAY: "a day"}
    span = words.get(allowed.seconds)
    return f"{format_count(allowed.most)} {span or 'in ' + format_duration(allowed.seconds)}"


def _list_groups(data: ServerData) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    found = data.snapshot
    if found is None:
        return
    yield "This process", tuple(_list_process(data))
    yield "Traffic", tuple(_list_traffic(found))
    yield "Database and disk", tuple(_list_storage(data, found))
    yield "Threads and gates", tuple(_list_limiters(found))


def _describe_instance(each: Instance, now: datetime) -> InstanceRow:
    told = each.figures
    return InstanceRow(
        name=each.name,
        address=each.address,
        status=_label_instance(each),
        version=f"{each.version}, schema {each.schema}",
        started=format_ago(each.started, now),
        figures=(
            ("Longest pause of the loop", f"{1000 * told.loop_lag_seconds:.0f} ms"),
            ("Commits behind", format_count(told.commits_behind)),
            ("Waiting changes", format_count(told.changes_waiting)),
            ("Requests", format_count(told.requests)),
            ("Streams", format_count(told.streams)),
            ("Clock", told.clock),
        ),
        may_be_primary=each.is_alive and each.role != "primary",
    )


def _label_instance(each: Instance) -> StatusLabel:
    if not each.is_alive:
        return StatusLabel(f"silent for {format_duration(each.silent_seconds)}", Tone.RED, "▲")
    return StatusLabel(each.role, Tone.GREEN, "✓")


def _list_process(data: ServerData) -> Iterator[Fact]:
    yield "Role", f"{'primary' if data.primary else 'secondary'} on {platform.node()}"
    if data.lease:
        live = "alive" if data.lease.live else "not responding"
        primary = f"{data.lease.holder} at {data.lease.address}, {live}"
        yield "Primary", primary if data.lease.holder else "none right now"
        yield "Epoch", f"{format_count(data.lease.epoch)}: {EPOCH}"
    yield "Python", platform.python_version()
    yield "System", f"{platform.system()} {platform.release()}"


def _list_quota(quota: QuotaDocument, now: datetime) -> Iterator[Fact]:
    """The remaining calls that GitHub allows this server."""
    if quota.uninitialized:
        yield "Calls to GitHub", "none yet"
        return
    left = (datetime.fromtimestamp(quota.reset, UTC) - now).total_seconds()
    calls = f"{format_count(quota.remaining)} of {format_count(quota.limit)} left"
    yield "Calls to GitHub", f"{calls}, reset in {format_duration(max(0.0, left))}"


def _list_traffic(found: MetricsSnapshot) -> Iterator[Fact]:
    failed = sum(count for (_, _, status), count in found.answers.items() if status >= 500)
    yield "Responses since the start", format_count(sum(found.answers.values()))
    yield "Server errors (5xx)", format_count(failed)
    yield "Requests in progress", format_count(found.inside)
    yield "Connections", format_count(found.connections)
    yield "Event streams", format_count(found.streams)
    yield "Longest pause of the loop", f"{1000 * found.longest_lag:.0f} ms"


def _list_storage(data: ServerData, found: MetricsSnapshot) -> Iterator[Fact]:
    commits = found.commits
    yield "Group commits", format_count(commits.rounds)
    yield "Waiting changes", format_count(commits.waiting)
    if found.pool:
        busy = found.pool.size - found.pool.idle
        yield "Connections in use", f"{busy} of {format_plural(found.pool.most, 'connection')}"
    if found.listening:
        yield "Receives events from other processes", "yes" if found.listening.connected else "no"
    if data.files_trouble:
        yield "Files", data.files_trouble
    if data.free < PLENTY:
        yield "Free disk space", format_bytes(data.free)
        yield "Disk reserve", format_bytes(data.reserve)


def _list_limiters(found: MetricsSnapshot) -> Iterator[Fact]:
    for limiter in found.limiters:
        longest = f"longest wait {1000 * limiter.longest_wait_seconds:.0f} ms"
        yield f"Threads: {limiter.name}", f"{limiter.running} of {limiter.size} busy, {longest}"
    for gate in found.gates:
        refused = f"{format_count(gate.refused)} refused"
        yield f"Gate: {gate.name}", f"{gate.inside} of {gate.size} inside, {refused}"


def _list_jobs(data: ServerData) -> Iterator[JobRow]:
    for job in data.snapshot.jobs if data.snapshot else ():
        total = job.done + job.failed
        yield JobRow(
            name=job.name,
            every=format_duration(job.seconds),
            status=_label_job(job, primary=data.primary),
            last=format_ago(job.ended, data.now) if job.ended else None,
            took=f"{1000 * job.spent_seconds / total:.0f} ms" if total else "",
            error=job.error,
        )


def _label_job(job: PeriodicJob, *, primary: bool) -> StatusLabel:
    if job.where is JobPlace.PRIMARY and not primary:
        return StatusLabel("left to the primary", Tone.IDLE, "○")
    if job.error:
        return StatusLabel(f"failed {format_plural(job.failed, 'time')}", Tone.RED, "▲")
    if not job.done:
        return StatusLabel("not yet", Tone.IDLE, "○")
    return StatusLabel(f"done {format_plural(job.done, 'time')}", Tone.GREEN, "✓")


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, server_page, methods=["GET"]),
        Route(f"{HERE}/primary", make_primary, methods=["POST"]),
    ]
