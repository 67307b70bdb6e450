"""Teams: make, join and leave them, with their engines."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.page import redirect_to, render_page, viewer_of
from rookery.server.http.scope import Form, request_info_of, session_of
from rookery.server.teams.teams import NAME, TeamExists

HERE = "/teams"
LOGIN = f"/login?next={HERE}"
LONGEST_NAME = 100
NAME_RULE = "A team's name has 2 to 50 letters, digits, - and _, and begins with a letter or digit."


@runs(Domain.THREAD, "teams are in memory; the page is rendered in a thread")
async def list_own_teams(request: Request) -> Response:
    viewer = await viewer_of(request)
    return redirect_to(LOGIN) if viewer is None else await _show_list(request, viewer)


@runs(Domain.THREAD, "awaits one write; a refused form is rendered in a thread")
async def make_team(request: Request) -> Response:
    viewer = await viewer_of(request)
    if viewer is None:
        return redirect_to(LOGIN)
    name = request_info_of(request.scope).form.text("name").strip()[:LONGEST_NAME]
    if not NAME.fullmatch(name):
        return await _show_list(request, viewer, name, NAME_RULE)
    try:
        await site_of(request).teams.create(name, viewer)
    except TeamExists:
        return await _show_list(request, viewer, name, "This name is taken; choose another one.")
    session_of(request.scope).flash(f"You now lead the team {name}.")
    return redirect_to(f"{HERE}/{name}")


@runs(Domain.THREAD, "teams are in memory; the page is rendered in a thread")
async def show_team(request: Request) -> Response:
    viewer = await viewer_of(request)
    return redirect_to(LOGIN) if viewer is None else await _show_team(request, viewer)


async def _show_team(request: Request, viewer: Actor, typed: str = "", error: str = "") -> Response:
    site = site_of(request)
    team = site.teams.by_name(str(request.path_params["team"]), viewer)
    shown = site.privacy.catalogue(viewer.name).engines.values()
    view = {
        "team": team,
        "user": viewer.name,
        "may_lead": viewer.approver or viewer.name in team.leads,
        "engines": [record for record in shown if record.team == team.name],
        # The user name that was typed, and its error.
        "typed": typed,
        "error": error,
    }
    return await render_page(request, "team.html", view, 400 if error else 200)


async def _show_list(request: Request, viewer: Actor, name: str = "", error: str = "") -> Response:
    site = site_of(request)
    teams = site.teams.list_visible(viewer)
    owners = [record.team for record in site.privacy.catalogue(viewer.name).engines.values()]
    view = {
        "teams": teams,
        "user": viewer.name,
        "engines": Counter(owners),
        "name": name,
        "error": error,
    }
    return await render_page(request, "teams.html", view, 400 if error else 200)


# Commands of members and team leaders, by forms.

Command = Callable[[Site, str, Actor, Form], Awaitable[str]]


@runs(Domain.THREAD, "awaits one write; a refused form is rendered in a thread")
async def change_team(request: Request) -> Response:
    """Carry out a command and show the outcome on the next page."""
    viewer, session = await viewer_of(request), session_of(request.scope)
    name = str(request.path_params["team"])
    command = COMMANDS.get(str(request.path_params["command"]))
    if command is None:
        raise NotFound
    if viewer is None:
        return redirect_to(LOGIN)
    site_of(request).teams.by_name(name, viewer)
    form = request_info_of(request.scope).form
    try:
        session.flash(await command(site_of(request), name, viewer, form))
    except REFUSALS as refused:
        if command is _add:
            return await _show_team(request, viewer, _user_in(form), text_of(refused))
        session.flash(text_of(refused), "error")
        return redirect_to(f"{HERE}/{name}")
    return redirect_to(HERE if command is _leave and not viewer.approver else f"{HERE}/{name}")


async def _add(site: Site, team: str, actor: Actor, form: Form) -> str:
    user = _user_in(form)
    lead = form.ticked("lead")
    await site.teams.add_member(team, user, actor, lead=lead)
    return f"{user} leads the team." if lead else f"{user} is a member."


async def _remove(site: Site, team: str, actor: Actor, form: Form) -> str:
    user = _user_in(form)
    await site.teams.remove_member(team, user, actor)
    return f"{user} is no longer in the team."


async def _leave(site: Site, team: str, actor: Actor, _form: Form) -> str:
    await site.teams.remove_member(team, actor.name, actor)
    return f"You have left the team {team}."


def _user_in(form: Form) -> str:
    return form.text("user").strip()[:LONGEST_NAME]


COMMANDS: Mapping[str, Command] = {"add": _add, "remove": _remove, "leave": _leave}


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, list_own_teams, methods=["GET"]),
        Route(HERE, make_team, methods=["POST"]),
        Route(f"{HERE}/{{team}}", show_team, methods=["GET"]),
        Route(f"{HERE}/{{team}}/{{command}}", change_team, methods=["POST"]),
    ]
