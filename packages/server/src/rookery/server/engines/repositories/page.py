"""Repositories that the server may open with its own credentials: the list of grants and, for
approvers, the form and button to add and revoke them."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.protocol.codec import BadField
from rookery.server.boundary.domains import Domain
from rookery.server.engines.grants import ALWAYS_GRANTED, EVERYBODY, LONGEST, GrantedRepositories
from rookery.server.http.faults import Forbidden
from rookery.server.http.pages.page import redirect_to, tell_outcome
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.teams.teams import Teams, UnknownTeam

HERE = "/repositories"
LONGEST_TEAM = 100
ONLY_APPROVERS = "Only an approver may do this."
NO_ADDRESS = "Enter an address such as https://host/path, without spaces."
NO_TEAM = "This team no longer exists."
NOTHING_TYPED = ("", "")


pages = Pages(HERE)
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class GrantParts(Parts):
    """What the page is made of."""

    repositories: GrantedRepositories
    teams: Teams
    clock: Clock


@pages(f"GET {HERE}", "grants are in memory; the page is rendered in a thread")
async def list_grants(viewer: Actor, parts: GrantParts) -> Page:
    return _show(parts, viewer)


@pages(f"POST {HERE}", "awaits one write; a refused form is rendered in a thread")
async def grant(viewer: Actor, parts: GrantParts, form: Form, session: Session) -> Page | Response:
    _require_approver(viewer)
    typed = _read_typed(form)
    try:
        granted = await parts.repositories.grant(*typed, viewer)
    except BadField:
        return _show(parts, viewer, typed, {"repository": NO_ADDRESS})
    except UnknownTeam:
        return _show(parts, viewer, typed, {"team": NO_TEAM})
    session.flash(f"{granted.repository} is granted to {granted.team or 'everybody'}.")
    return redirect_to(HERE)


@pages(f"POST {HERE}/revoke", "awaits one write", where=Domain.LOOP)
async def revoke_grant(
    viewer: Actor, repositories: GrantedRepositories, form: Form, session: Session
) -> Response:
    _require_approver(viewer)
    repository, team = _read_typed(form)

    async def revoke() -> str:
        await repositories.revoke(repository, team, viewer)
        return f"{repository} is now read anonymously for {team or 'everybody'}."

    await tell_outcome(session, revoke())
    return redirect_to(HERE)


def _require_approver(viewer: Actor) -> None:
    if not viewer.approver:
        raise Forbidden(ONLY_APPROVERS)


def _read_typed(form: Form) -> tuple[str, str]:
    """The typed repository and team. One character more than allowed is kept, so that a long
    address is refused."""
    return form.text("repository").strip()[: LONGEST + 1], form.text("team").strip()[:LONGEST_TEAM]


def _show(
    parts: GrantParts,
    viewer: Actor,
    typed: tuple[str, str] = NOTHING_TYPED,
    errors: Mapping[str, str] | None = None,
) -> Page:
    teams = (team.name for team in parts.teams.list_visible(viewer))
    shown = {
        "grants": parts.repositories.list_visible(viewer),
        "always": sorted(ALWAYS_GRANTED),
        "may_grant": viewer.approver,
        "teams": ((EVERYBODY, "everybody who may submit tests"), *((name, name) for name in teams)),
        "now": parts.clock.now(),
        "repository": typed[0],
        "team": typed[1],
        "errors": errors or {},
    }
    return Page("repositories.html", shown, 400 if errors else 200)
