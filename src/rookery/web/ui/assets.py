"""The style sheet and pictures of the pages."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.web.faults import NotFound
from rookery.web.kit import kit_of

_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}


@runs(Domain.LOOP, "bytes read at the start")
async def asset(request: Request) -> Response:
    found = kit_of(request).assets.at(request.url.path)
    if found is None:
        raise NotFound
    return Response(found.content, headers={**_FOR_EVER, "content-type": found.media_type})
