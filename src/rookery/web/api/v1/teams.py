"""Teams: made, listed, joined and left."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.core.lifecycle import Actor
from rookery.protocol import people, v1
from rookery.protocol.decoding import Reader
from rookery.service.sources.repositories import GrantedRepository
from rookery.service.teams import Team
from rookery.service.tokens import Scope
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.v1.callers import bearer_of
from rookery.web.bodies import json_answer, read_body
from rookery.web.openapi import Operation, described

NEW = Reader(people.NewTeam)
MEMBER = Reader(people.MemberBody)
GRANT = Reader(people.NewGrant)
BY_NAME = {"team": v1.Name}
OF_TEAM = {"team": v1.Name, "user": v1.Name}
CHANGED: dict[int, type | str] = {200: people.TeamEntry}


class TeamEndpoints:
    """Teams are in memory; only changing one awaits the database."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    @described(Operation("The teams that one may know of", {200: people.TeamList}, bearer=True))
    @runs(Domain.LOOP, "teams are in memory")
    async def listing(self, request: Request) -> Response:
        actor = await self._actor(request, Scope.READ)
        found = self._desk.teams.seen_by(actor)
        return json_answer(people.TeamList(teams=tuple(map(entry_of, found))))

    @described(Operation("Make a team", {201: people.TeamEntry}, body=people.NewTeam, bearer=True))
    @runs(Domain.LOOP, "awaits one write")
    async def create(self, request: Request) -> Response:
        actor = await self._actor(request, Scope.SUBMIT)
        body = await read_body(request.receive)
        with refusals():
            team = await self._desk.teams.create(NEW.read(body).name, actor)
        return json_answer(entry_of(team), 201)

    @described(Operation("A team", CHANGED, path=BY_NAME, bearer=True))
    @runs(Domain.LOOP, "teams are in memory")
    async def one(self, request: Request) -> Response:
        actor = await self._actor(request, Scope.READ)
        with refusals():
            return _answer(self._desk.teams.by_name(_team(request), actor))

    @described(
        Operation(
            "Take somebody into a team", CHANGED, path=OF_TEAM, body=people.MemberBody, bearer=True
        )
    )
    @runs(Domain.LOOP, "awaits one write")
    async def join(self, request: Request) -> Response:
        actor = await self._actor(request, Scope.SUBMIT, Scope.APPROVE)
        body = await read_body(request.receive)
        with refusals():
            lead = MEMBER.read(body or b"{}").lead
            teams, user = self._desk.teams, _user(request)
            return _answer(await teams.join(_team(request), user, actor, lead=lead))

    @described(Operation("Take somebody out of a team", CHANGED, path=OF_TEAM, bearer=True))
    @runs(Domain.LOOP, "awaits one write")
    async def leave(self, request: Request) -> Response:
        actor = await self._actor(request, Scope.SUBMIT, Scope.APPROVE)
        with refusals():
            return _answer(await self._desk.teams.leave(_team(request), _user(request), actor))

    async def _actor(self, request: Request, *scopes: Scope) -> Actor:
        return (await bearer_of(request, self._desk.bearers, *scopes)).actor


class RepositoryEndpoints:
    """What the server may open with credentials of its own: approvers say so, never a record."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    @described(
        Operation(
            "Repositories that this server opens with its own credentials",
            {200: people.GrantedList},
            bearer=True,
        )
    )
    @runs(Domain.LOOP, "they are in memory")
    async def listing(self, request: Request) -> Response:
        actor = await self._actor(request, Scope.READ)
        found = self._desk.repositories.seen_by(actor)
        return json_answer(people.GrantedList(repositories=tuple(map(granted_of, found))))

    @described(
        Operation(
            "Have the server open a repository with its own credentials",
            {201: people.GrantedRepository},
            body=people.NewGrant,
            bearer=True,
        )
    )
    @runs(Domain.LOOP, "awaits one write")
    async def grant(self, request: Request) -> Response:
        actor = await self._actor(request, Scope.APPROVE)
        body = await read_body(request.receive)
        with refusals():
            wish = GRANT.read(body)
            granted = await self._desk.repositories.grant(wish.repository, wish.team, actor)
        return json_answer(granted_of(granted), 201)

    @described(
        Operation(
            "Open a repository as a stranger again",
            {200: people.NewGrant},
            query={"repository": str, "team": v1.Name},
            bearer=True,
        )
    )
    @runs(Domain.LOOP, "awaits one write")
    async def revoke(self, request: Request) -> Response:
        actor = await self._actor(request, Scope.APPROVE)
        query = request.query_params
        repository, team = query.get("repository", ""), query.get("team", "")
        with refusals():
            await self._desk.repositories.revoke(repository, team, actor)
        return json_answer(people.NewGrant(repository=repository, team=team))

    async def _actor(self, request: Request, *scopes: Scope) -> Actor:
        return (await bearer_of(request, self._desk.bearers, *scopes)).actor


def granted_of(granted: GrantedRepository) -> people.GrantedRepository:
    return people.GrantedRepository(
        repository=granted.repository,
        team=granted.team,
        granted_by=granted.granted_by,
        granted=granted.at,
    )


def entry_of(team: Team) -> people.TeamEntry:
    return people.TeamEntry(
        name=team.name,
        members=tuple(sorted(team.members)),
        leads=tuple(sorted(team.leads)),
        created=team.created,
    )


def _answer(team: Team) -> Response:
    return json_answer(entry_of(team))


def _team(request: Request) -> str:
    return str(request.path_params["team"])


def _user(request: Request) -> str:
    return str(request.path_params["user"])
