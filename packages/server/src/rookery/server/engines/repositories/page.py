"""Repositories that the server may open with its own credentials: the list of grants and, for
approvers, the form and button to add and revoke them."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.protocol.codec import BadField
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.grants import ALWAYS_GRANTED, EVERYBODY, LONGEST
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import Forbidden
from rookery.server.http.pages.page import redirect_to, render_page, viewer_of
from rookery.server.http.scope import request_info_of, session_of
from rookery.server.teams.teams import UnknownTeam

HERE = "/repositories"
LOGIN = f"/login?next={HERE}"
LONGEST_TEAM = 100
ONLY_APPROVERS = "Only an approver may do this."
NO_ADDRESS = "Enter an address such as https://host/path, without spaces."
NO_TEAM = "This team no longer exists."
NOTHING_TYPED = ("", "")


@runs(Domain.THREAD, "grants are in memory; the page is rendered in a thread")
async def list_grants(request: Request) -> Response:
    viewer = await viewer_of(request)
    return redirect_to(LOGIN) if viewer is None else await _show(request, viewer)


@runs(Domain.THREAD, "awaits one write; a refused form is rendered in a thread")
async def grant(request: Request) -> Response:
    viewer = await viewer_of(request)
    if viewer is None:
        return redirect_to(LOGIN)
    _require_approver(viewer)
    typed = _read_typed(request)
    try:
        granted = await site_of(request).repositories.grant(*typed, viewer)
    except BadField:
        return await _show(request, viewer, typed, {"repository": NO_ADDRESS})
    except UnknownTeam:
        return await _show(request, viewer, typed, {"team": NO_TEAM})
    whom = granted.team or "everybody"
    session_of(request.scope).flash(f"{granted.repository} is granted to {whom}.")
    return redirect_to(HERE)


@runs(Domain.LOOP, "awaits one write")
async def revoke(request: Request) -> Response:
    viewer, session = await viewer_of(request), session_of(request.scope)
    if viewer is None:
        return redirect_to(LOGIN)
    _require_approver(viewer)
    repository, team = _read_typed(request)
    try:
        await site_of(request).repositories.revoke(repository, team, viewer)
        session.flash(f"{repository} is now read anonymously for {team or 'everybody'}.")
    except REFUSALS as refused:
        session.flash(text_of(refused), "error")
    return redirect_to(HERE)


def _require_approver(viewer: Actor) -> None:
    if not viewer.approver:
        raise Forbidden(ONLY_APPROVERS)


def _read_typed(request: Request) -> tuple[str, str]:
    """The typed repository and team. One character more than allowed is kept, so that a long
    address is refused."""
    form = request_info_of(request.scope).form
    return form.text("repository").strip()[: LONGEST + 1], form.text("team").strip()[:LONGEST_TEAM]


async def _show(
    request: Request,
    viewer: Actor,
    typed: tuple[str, str] = NOTHING_TYPED,
    errors: Mapping[str, str] | None = None,
) -> Response:
    site = site_of(request)
    teams = (team.name for team in site.teams.list_visible(viewer))
    view = {
        "grants": site.repositories.list_visible(viewer),
        "always": sorted(ALWAYS_GRANTED),
        "may_grant": viewer.approver,
        "teams": ((EVERYBODY, "everybody who may submit tests"), *((name, name) for name in teams)),
        "now": site.clock.now(),
        "repository": typed[0],
        "team": typed[1],
        "errors": errors or {},
    }
    return await render_page(request, "repositories.html", view, 400 if errors else 200)


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, list_grants, methods=["GET"]),
        Route(HERE, grant, methods=["POST"]),
        Route(f"{HERE}/revoke", revoke, methods=["POST"]),
    ]
