"""What this server is: whether it is ready, its role, its limits, and for approvers its jobs,
queues, threads and disk."""

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery import __version__
from rookery.boundary.domains import Domain, runs
from rookery.db.lease import LeaseRow
from rookery.farm.commits import StateLost
from rookery.farm.instances import Instance
from rookery.farm.jobs import JobPlace, PeriodicJob
from rookery.farm.primary import Rebuilding
from rookery.pages.formatting import (
    Moment,
    format_ago,
    format_bytes,
    format_count,
    format_duration,
    format_plural,
)
from rookery.pages.page import render_page_in_thread, viewer_of
from rookery.pages.run_row import StatusLabel, Tone
from rookery.protocol.user_documents import QuotaDocument
from rookery.settings import Settings
from rookery.web.answers import site_of
from rookery.web.limits import RequestBounds
from rookery.web.metrics import MetricsSnapshot
from rookery.web.probes import take_snapshot
from rookery.web.site import Site

HERE = "/server"
READY = StatusLabel("ready", Tone.GREEN, "✓")
NOT_READY = StatusLabel("not ready", Tone.RED, "▲")
PLENTY = 2**60
Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ServerData:
    """What the page is made from; `snapshot` and what follows are for approvers alone."""

    now: datetime
    reason: str
    warning: str
    primary: bool
    runs: int
    workers: int
    cores: int
    waiting: int
    settings: Settings
    bounds: RequestBounds
    snapshot: MetricsSnapshot | None = None
    lease: LeaseRow | None = None
    instances: tuple[Instance, ...] = ()
    quota: QuotaDocument | None = None
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


@dataclass(frozen=True, slots=True)
class ServerView:
    status: StatusLabel
    reason: str
    role: str
    figures: tuple[Fact, ...]
    limits: tuple[Fact, ...]
    groups: tuple[tuple[str, tuple[Fact, ...]], ...]
    jobs: tuple[JobRow, ...]
    instances: tuple[InstanceRow, ...] = ()


@runs(Domain.THREAD, "a snapshot on the loop, rendered in a thread")
async def server_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    approver = viewer is not None and viewer.approver
    data = await _load(site, with_details=approver)
    status = 503 if data.reason else 200
    return await render_page_in_thread(request, "server.html", make_server_view, data, status)


async def _load(site: Site, *, with_details: bool) -> ServerData:
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
        runs=len(active),
        workers=sum(run.tally.workers for run in active),
        cores=sum(run.tally.cores for run in active),
        waiting=site.fleet.activity.waiting_machines,
        settings=site.settings,
        bounds=site.limits,
        snapshot=take_snapshot(site) if with_details else None,
        lease=await site.read_lease() if with_details and not reason else None,
        instances=await site.instances.list_all() if with_details and not reason else (),
        quota=site.github_quota() if with_details else None,
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
            ("machines that wait", format_count(data.waiting)),
        ),
        limits=tuple(_list_limits(data)),
        groups=tuple(_list_groups(data)),
        jobs=tuple(_list_jobs(data)),
        instances=tuple(_describe_instance(each, data.now) for each in data.instances),
    )


def _list_limits(data: ServerData) -> Iterator[Fact]:
    """What everybody should know who writes a script."""
    settings, bounds = data.settings, data.bounds
    yield "Version", f"Rookery {__version__}"
    yield "A request", f"up to {format_bytes(bounds.body_bytes)}, {bounds.body_seconds:.0f} s"
    yield "An upload", f"up to {format_bytes(settings.upload_mb * 1e6)}"
    kept = settings.upload_quota_mb
    yield "Kept by a person", f"up to {format_bytes(kept * 1e6)}" if kept else "no limit"
    yield "Open event streams", f"up to {format_count(settings.event_streams)}"
    yield "Cores of a person", f"up to {format_count(settings.cores_per_user)}"
    yield "Sign-up", "open" if settings.sign_up else "by the operator"
    yield "Approval", "by another approver" if settings.cross_approval else "by any approver"


def _list_groups(data: ServerData) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    found = data.snapshot
    if found is None:
        return
    yield "This process", tuple(_list_process(data))
    if data.quota:
        yield "GitHub's rate limit", tuple(_list_quota(data.quota, data.now))
    yield "Traffic", tuple(_list_traffic(found))
    yield "Database and disk", tuple(_list_storage(data, found))
    yield "Threads and gates", tuple(_list_lanes(found))


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
            ("Changes that wait", format_count(told.changes_waiting)),
            ("Requests", format_count(told.requests)),
            ("Streams", format_count(told.streams)),
        ),
    )


def _label_instance(each: Instance) -> StatusLabel:
    if not each.is_alive:
        return StatusLabel(f"silent for {format_duration(each.silent_seconds)}", Tone.RED, "▲")
    return StatusLabel(each.role, Tone.GREEN, "✓")


def _list_process(data: ServerData) -> Iterator[Fact]:
    yield "Role", f"{'primary' if data.primary else 'secondary'} on {platform.node()}"
    if data.lease:
        live = "alive" if data.lease.live else "not heard of"
        primary = f"{data.lease.holder} at {data.lease.address}, {live}"
        yield "Primary", primary if data.lease.holder else "nobody just now"
        yield "Takeovers so far", format_count(data.lease.epoch)
    yield "Python", platform.python_version()
    yield "System", f"{platform.system()} {platform.release()}"


def _list_quota(quota: QuotaDocument, now: datetime) -> Iterator[Fact]:
    if quota.uninitialized:
        yield "Calls", "none made yet"
        return
    yield "Calls left", f"{format_count(quota.remaining)} of {format_count(quota.limit)}"
    left = (datetime.fromtimestamp(quota.reset, UTC) - now).total_seconds()
    yield "Counted anew in", format_duration(max(0.0, left))


def _list_traffic(found: MetricsSnapshot) -> Iterator[Fact]:
    failed = sum(count for (_, _, status), count in found.answers.items() if status >= 500)
    yield "Answers since the start", format_count(sum(found.answers.values()))
    yield "Of them errors of ours", format_count(failed)
    yield "Requests inside now", format_count(found.inside)
    yield "Connections", format_count(found.connections)
    yield "Event streams", format_count(found.streams)
    yield "Longest pause of the loop", f"{1000 * found.longest_lag:.0f} ms"


def _list_storage(data: ServerData, found: MetricsSnapshot) -> Iterator[Fact]:
    commits = found.commits
    yield "Group commits", format_count(commits.rounds)
    yield "Changes that wait", format_count(commits.waiting)
    if found.pool:
        busy = found.pool.size - found.pool.idle
        yield "Connections in use", f"{busy} of {format_plural(found.pool.most, 'connection')}"
    if found.listening:
        yield "Hears other processes", "yes" if found.listening.connected else "no"
    if data.free < PLENTY:
        yield "Free on the disk", format_bytes(data.free)
        yield "Kept in reserve", format_bytes(data.reserve)


def _list_lanes(found: MetricsSnapshot) -> Iterator[Fact]:
    for lane in found.limiters:
        longest = f"longest wait {1000 * lane.longest_wait_seconds:.0f} ms"
        yield f"Threads: {lane.name}", f"{lane.running} of {lane.size} busy, {longest}"
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
    return [Route(HERE, server_page, methods=["GET"])]
