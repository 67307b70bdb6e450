"""The condition of a server, for approvers and for `rookery doctor`."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.protocol import v1
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer
from rookery.server.http.callers import require_bearer
from rookery.server.http.faults import Forbidden
from rookery.server.http.openapi import Operation, described
from rookery.server.people.users import Scope

UNSEEN = {"cache-control": "no-store"}


@described(Operation("The state of the server", {200: v1.ServerEntry}, bearer=True))
@runs(Domain.LOOP, "awaits one query at most every fifteen seconds")
async def get_server(request: Request) -> Response:
    """The figures of the answering instance, and the site's backup age and sign-up setting."""
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.READ)
    if not bearer.actor.approver:
        raise Forbidden("Only an approver may see this.")
    rows = (await site.figures.read()).rows
    entry = v1.ServerEntry(
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
    return json_answer(entry, headers=UNSEEN)
