"""Teams: make, join and leave them, with their engines."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.responses import Response

from rookery.core.model.actor import Actor
from rookery.server.engines.privacy import Privacy
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.teams.teams import NAME, TeamExists, Teams

HERE = "/teams"
LONGEST_NAME = 100
NAME_RULE = "A team's name has 2 to 50 letters, digits, - and _, and begins with a letter or digit."
NAME_TAKEN = "This name is taken; choose another one."

pages = Pages(HERE)
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class TeamPages(Parts):
    """The pages of the viewer's teams, with what was typed if a form was refused."""

    viewer: Actor
    teams: Teams
    privacy: Privacy

    def show_list(self, name: str = "", error: str = "") -> Page:
        engines = self.privacy.catalogue(self.viewer.name).engines.values()
        view = {
            "teams": self.teams.list_visible(self.viewer),
            "user": self.viewer.name,
            "engines": Counter(record.team for record in engines),
            "name": name,
            "error": error,
        }
        return Page("teams.html", view, 400 if error else 200)

    def show_team(self, name: str, typed: str = "", error: str = "") -> Page:
        team, viewer = self.teams.by_name(name, self.viewer), self.viewer
        shown = self.privacy.catalogue(viewer.name).engines.values()
        view = {
            "team": team,
            "user": viewer.name,
            "may_lead": viewer.approver or viewer.name in team.leads,
            "engines": [record for record in shown if record.team == team.name],
            # The user name that was typed, and its error.
            "typed": typed,
            "error": error,
        }
        return Page("team.html", view, 400 if error else 200)


@pages("GET /teams", "teams are in memory; the page is rendered in a thread")
async def list_own_teams(shown: TeamPages) -> Page:
    return shown.show_list()


@pages("POST /teams", "awaits one write; a refused form is rendered in a thread")
async def make_team(shown: TeamPages, form: Form, session: Session) -> Page | Response:
    name = form.text("name").strip()[:LONGEST_NAME]
    if not NAME.fullmatch(name):
        return shown.show_list(name, NAME_RULE)
    try:
        await shown.teams.create(name, shown.viewer)
    except TeamExists:
        return shown.show_list(name, NAME_TAKEN)
    session.flash(f"You now lead the team {name}.")
    return redirect_to(f"{HERE}/{name}")


@pages("GET /teams/{team}", "teams are in memory; the page is rendered in a thread")
async def show_team(team: str, shown: TeamPages) -> Page:
    return shown.show_team(team)


# Commands of members and team leaders, by forms.

Command = Callable[[Teams, str, Actor, Form], Awaitable[str]]


@pages("POST /teams/{team}/{command}", "awaits one write; a refused form is rendered in a thread")
async def change_team(
    team: str, command: str, shown: TeamPages, form: Form, session: Session
) -> Page | Response:
    """Carry out a command and show the outcome on the next page."""
    carry_out, viewer = COMMANDS.get(command), shown.viewer
    if carry_out is None:
        raise NotFound
    shown.teams.by_name(team, viewer)
    try:
        session.flash(await carry_out(shown.teams, team, viewer, form))
    except REFUSALS as refused:
        if carry_out is _add:
            return shown.show_team(team, _user_in(form), text_of(refused))
        session.flash(text_of(refused), "error")
        return redirect_to(f"{HERE}/{team}")
    return redirect_to(HERE if carry_out is _leave and not viewer.approver else f"{HERE}/{team}")


async def _add(teams: Teams, team: str, actor: Actor, form: Form) -> str:
    user = _user_in(form)
    lead = form.ticked("lead")
    await teams.add_member(team, user, actor, lead=lead)
    return f"{user} leads the team." if lead else f"{user} is a member."


async def _remove(teams: Teams, team: str, actor: Actor, form: Form) -> str:
    user = _user_in(form)
    await teams.remove_member(team, user, actor)
    return f"{user} is no longer in the team."


async def _leave(teams: Teams, team: str, actor: Actor, _form: Form) -> str:
    await teams.remove_member(team, actor.name, actor)
    return f"You have left the team {team}."


def _user_in(form: Form) -> str:
    return form.text("user").strip()[:LONGEST_NAME]


COMMANDS: Mapping[str, Command] = {"add": _add, "remove": _remove, "leave": _leave}
