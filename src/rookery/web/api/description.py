"""/openapi.json: what the JSON routes take and give."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs


@runs(Domain.LOOP, "bytes made at the start")
async def openapi(request: Request) -> Response:
    return Response(request.app.state.openapi, media_type="application/json")
