"""/healthz says that the loop turns, /readyz that there is a use in sending requests."""

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.web.answers import kit_of
from rookery.web.bodies import json_answer
from rookery.web.metrics import exposition, figures
from rookery.web.openapi import Operation, described


class Alive(msgspec.Struct):
    """The event loop answers."""

    alive: bool


class Ready(msgspec.Struct, omit_defaults=True):
    """Whether requests are welcome, and why not."""

    ready: bool
    reason: str = ""
    warning: str = ""


@described(Operation("Whether the process lives", {200: Alive}))
@runs(Domain.LOOP, "a constant")
async def healthz(_request: Request) -> Response:
    return json_answer(Alive(alive=True), headers={"cache-control": "no-store"})


@described(Operation("Whether the process can do its work", {200: Ready, 503: Ready}))
@runs(Domain.LOOP, "awaits one query at most every half second")
async def readyz(request: Request) -> Response:
    readiness = kit_of(request).readiness
    reason = await readiness.reason_against()
    status = 503 if reason else 200
    headers = {"cache-control": "no-store"}
    warning = "" if reason else readiness.warning
    return json_answer(Ready(ready=not reason, reason=reason, warning=warning), status, headers)


# /metrics: the figures of this process for Prometheus.


@runs(Domain.THREAD, "a snapshot on the loop, the text in a thread")
async def metrics(request: Request) -> Response:
    kit = kit_of(request)
    text = await kit.house.threads.cpu(exposition, figures(kit.house, kit.traffic))
    return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})
