"""/metrics: the figures of this process for Prometheus."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.web.kit import kit_of
from rookery.web.metrics import exposition, figures


@runs(Domain.THREAD, "a snapshot on the loop, the text in a thread")
async def metrics(request: Request) -> Response:
    kit = kit_of(request)
    text = await kit.house.threads.cpu(exposition, figures(kit.house, kit.traffic))
    return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})
