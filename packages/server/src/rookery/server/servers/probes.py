"""Serves the probes: /healthz tells that the loop runs, /readyz whether requests should be sent
here, /callerz whom this server takes the caller for."""

import contextlib
from dataclasses import replace
from datetime import datetime

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.pool import AWAY
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer
from rookery.server.http.callers import find_reader
from rookery.server.http.faults import HttpFault
from rookery.server.http.metrics import MetricsSnapshot, render_metrics
from rookery.server.http.openapi import Operation, described
from rookery.server.http.scope import header, request_info_of
from rookery.server.servers.farm_metrics import FarmCollector


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


class Caller(msgspec.Struct):
    """A caller as this server sees it, and the server's time. `proxied` tells whether a trusted
    proxy has said who the caller is."""

    address: str
    scheme: str
    host: str
    proxied: bool
    time: datetime


@described(Operation("Whether the process is alive", {200: Alive}))
@runs(Domain.LOOP, "a constant")
async def healthz(_request: Request) -> Response:
    return json_answer(Alive(alive=True), headers={"cache-control": "no-store"})


@described(Operation("Whether the process is ready for requests", {200: Ready, 503: Ready}))
@runs(Domain.LOOP, "awaits one query at most every half second")
async def readyz(request: Request) -> Response:
    site = site_of(request)
    readiness, role = site.readiness, site.role
    reason = await readiness.reason_against()
    status = 503 if reason else 200
    headers = {"cache-control": "no-store", "x-rookery-role": role}
    warning = "" if reason else readiness.warning
    version = "" if reason else await _find_version(request, site)
    answer = Ready(not reason, role, reason, warning, version)
    return json_answer(answer, status, headers)


async def _find_version(request: Request, site: Site) -> str:
    """The version with its build if an approver asks, else empty. A probe with a bad token is
    answered too."""
    if not header(request.scope, b"authorization"):
        return ""
    with contextlib.suppress(HttpFault, *AWAY):
        reader = await find_reader(request, site)
        return site.version if reader is not None and reader.approver else ""
    return ""


@described(Operation("How the server sees the caller: address, scheme and host", {200: Caller}))
@runs(Domain.LOOP, "a few fields of this very request")
async def callerz(request: Request) -> Response:
    """Tell the caller about itself only: how its request looks after any proxies in between."""
    info = request_info_of(request.scope)
    seen = Caller(
        address=info.client,
        scheme="https" if info.secure else "http",
        host=header(request.scope, b"host"),
        proxied=info.proxied,
        time=site_of(request).clock.now(),
    )
    return json_answer(seen, headers={"cache-control": "no-store"})


# Serves /metrics: the figures of this process for Prometheus.


@runs(Domain.THREAD, "a snapshot on the loop, one query at times, the text in a thread")
async def metrics(request: Request) -> Response:
    site = site_of(request)
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
