"""Serves the probes: /healthz tells that the loop runs, /readyz whether requests should be sent
here, /callerz whom this server takes the caller for."""

import contextlib
from dataclasses import replace
from datetime import datetime

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.server.app.site import Site
from rookery.server.db.pool import AWAY
from rookery.server.http.callers import find_caller
from rookery.server.http.endpoint import LOOP, THREAD, UNSEEN, Answer, Endpoints
from rookery.server.http.error_table import REFUSALS
from rookery.server.http.scope import RequestInfo, header
from rookery.server.identity.users import Scope
from rookery.server.servers.farm_metrics import FarmCollector
from rookery.server.servers.metrics import MetricsSnapshot, render_metrics

api = Endpoints(headers=UNSEEN)
figures = Endpoints(documented=False)


class Alive(msgspec.Struct):
    """The event loop answers."""

    alive: bool


class Ready(msgspec.Struct, omit_defaults=True):
    """Whether this process accepts requests, and if not, why. Any process accepts any request,
    whatever its role."""

    ready: bool
    role: str
    reason: str = ""
    warning: str = ""
    version: str = ""
    """The version with its build, for callers with an approver's token."""


class SeenCaller(msgspec.Struct):
    """A caller as this server sees it, and the server's time. `proxied` tells whether a trusted
    proxy has said who the caller is."""

    address: str
    scheme: str
    host: str
    proxied: bool
    time: datetime


@api("GET /healthz", LOOP, "a constant")
async def healthz() -> Alive:
    """Whether the process is alive."""
    return Alive(alive=True)


@api("GET /readyz", LOOP, "awaits one query at most every half second", status=(200, 503))
async def readyz(site: Site, request: Request) -> Answer[Ready]:
    """Whether the process is ready for requests."""
    readiness, role = site.readiness, site.role
    reason = await readiness.reason_against()
    status = 503 if reason else 200
    warning = "" if reason else readiness.warning
    version = "" if reason else await _find_version(request, site)
    answer = Ready(not reason, role, reason, warning, version)
    return Answer(answer, status, {"x-rookery-role": role})


async def _find_version(request: Request, site: Site) -> str:
    """The version with its build if an approver asks, else empty. A probe with a bad token is
    answered too."""
    if not header(request.scope, b"authorization"):
        return ""
    with contextlib.suppress(*REFUSALS, *AWAY):
        caller = await find_caller(request, site.bearers)
        may_read = caller is not None and Scope.READ in caller.scopes and caller.actor.approver
        return site.version if may_read else ""
    return ""


@api("GET /callerz", LOOP, "a few fields of this very request")
async def callerz(clock: Clock, info: RequestInfo, request: Request) -> SeenCaller:
    """How the server sees the caller: address, scheme and host.

    The caller is told about itself only: how its request looks after any proxies in between."""
    return SeenCaller(
        address=info.client,
        scheme="https" if info.secure else "http",
        host=header(request.scope, b"host"),
        proxied=info.proxied,
        time=clock.now(),
    )


# Serves /metrics: the figures of this process for Prometheus.


@figures("GET /metrics", THREAD, "a snapshot on the loop, one query at times, the text in a thread")
async def metrics(site: Site) -> Response:
    """The figures of this process."""
    farm = FarmCollector(await site.figures.read(), site.disk)
    text = await site.threads.cpu(render_metrics, take_snapshot(site), farm)
    return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})


def take_snapshot(site: Site) -> MetricsSnapshot:
    """All figures of the process, read on the loop."""
    gates = (
        site.task_gate,
        site.event_gate,
        site.commits.gate,
        site.ask.gate,
        site.ask.similar_gate,
    )
    watch = site.watch
    return MetricsSnapshot(
        answers=site.traffic.answers(),
        times=site.traffic.times(),
        inside=site.traffic.inside,
        connections=site.connections(),
        streams=len(site.streams),
        limiters=site.threads.stats(),
        gates=tuple(gate.stats() for gate in gates),
        bridge=site.bridge.stats() if site.bridge else None,
        lag=watch.histogram() if watch else None,
        longest_lag=watch.longest if watch else 0.0,
        holdups=watch.holdups() if watch else None,
        loop_times=site.meter.times(),
        jobs=tuple(replace(job) for job in site.jobs),
        pool=site.pool_stats(),
        commits=site.fleet.primary.commit_stats(),
        bus=site.bus.stats(),
        listening=site.listening_stats(),
        index=site.indexer.stats(),
        primary=site.is_primary(),
        ask=site.ask.stats(),
        storage=site.storage_health.stats(),
        forwarding=site.forwarder.stats(),
        other_instances=site.other_instances().others,
        commits_behind=max(0, site.other_instances().sequence - site.bus.sequence),
        activity_age=site.activity_keeping.age_seconds,
        version=site.version,
    )
