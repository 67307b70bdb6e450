"""The condition of a server, for approvers and `rookery doctor`, and the document of its API."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.boundary.offload import Threads
from rookery.core.protocol import v1
from rookery.server.app.site import Site
from rookery.server.http.endpoint import LOOP, THREAD, UNSEEN, Endpoints
from rookery.server.http.faults import Forbidden
from rookery.server.identity.bearers import Caller
from rookery.server.identity.users import Scope

api = Endpoints("/api/v1")
itself = Endpoints(documented=False)


@api(
    "GET /server",
    LOOP,
    "awaits one query at most every fifteen seconds",
    scope=Scope.READ,
    headers=UNSEEN,
)
async def get_server(site: Site, caller: Caller) -> v1.ServerEntry:
    """The state of the server.

    The figures are those of the answering instance; backup age and sign-up are the site's."""
    if not caller.actor.approver:
        raise Forbidden("Only an approver may see this.")
    rows = (await site.figures.read()).rows
    return v1.ServerEntry(
        version=site.version,
        role=site.role,
        time=site.clock.now(),
        sign_up=site.settings.sign_up,
        disk_free_bytes=site.disk.free,
        disk_reserve_bytes=site.disk.reserve,
        other_servers=site.other_instances().others,
        database_up=rows is not None,
        backup_age_seconds=rows.backup_seconds if rows is not None else None,
    )


@itself("GET /openapi.json", THREAD, "the document is made for the first who asks")
async def get_openapi(request: Request, threads: Threads) -> Response:
    """The document of the API."""
    document = await threads.cpu(request.app.state.make_openapi)
    return Response(document, media_type="application/json")
