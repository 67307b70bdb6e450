"""Teams: create, list, join and leave. They are in memory; only a change awaits the database."""

from rookery.core.protocol import people, v1
from rookery.server.http.endpoint import LOOP, Endpoints
from rookery.server.identity.bearers import Caller
from rookery.server.identity.users import Scope
from rookery.server.teams.teams import Teams

LEADERS = (Scope.SUBMIT, Scope.APPROVE)

api = Endpoints("/api/v1")


@api("GET /teams", LOOP, "teams are in memory", scope=Scope.READ)
async def list_teams(teams: Teams, caller: Caller) -> people.TeamList:
    """The teams that you may see."""
    return people.TeamList(teams=teams.list_visible(caller.actor))


@api("POST /teams", LOOP, "awaits one write", scope=Scope.SUBMIT, status=201)
async def create_team(teams: Teams, caller: Caller, wish: people.NewTeam) -> people.Team:
    """Create a team."""
    return await teams.create(wish.name, caller.actor)


@api("GET /teams/{team}", LOOP, "teams are in memory", scope=Scope.READ)
async def get_team(teams: Teams, caller: Caller, team: v1.Name) -> people.Team:
    """A team."""
    return teams.by_name(team, caller.actor)


@api("PUT /teams/{team}/members/{user}", LOOP, "awaits one write", scope=LEADERS, empty_body=True)
async def add_member(
    teams: Teams, caller: Caller, team: v1.Name, user: v1.Name, wish: people.MemberBody
) -> people.Team:
    """Add a user to a team."""
    return await teams.add_member(team, user, caller.actor, lead=wish.lead)


@api("DELETE /teams/{team}/members/{user}", LOOP, "awaits one write", scope=LEADERS)
async def remove_member(teams: Teams, caller: Caller, team: v1.Name, user: v1.Name) -> people.Team:
    """Remove a user from a team."""
    return await teams.remove_member(team, user, caller.actor)
