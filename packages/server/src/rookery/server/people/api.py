"""Accounts, contributors, teams, and repositories that the server may open with its credentials."""

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.errors import Complaint
from rookery.core.protocol import people, v1
from rookery.core.protocol.codec import Reader, to_finite
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.statistics_rows import Contributor, Period
from rookery.server.http import queries
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer, read_body
from rookery.server.http.callers import find_bearer, require_bearer, translated_errors
from rookery.server.http.faults import BadRequest, Conflict, Forbidden, TooManyRequests
from rookery.server.http.openapi import Operation, described
from rookery.server.http.scope import request_info_of
from rookery.server.people.bearers import Bearer
from rookery.server.people.login import Throttled
from rookery.server.people.users import (
    AccountConflict,
    NotPermitted,
    Scope,
    UnknownUser,
    User,
    is_approver,
)
from rookery.server.runs.api import PAGING

APPLICATION = Reader(people.Application)
CHANGE = Reader(people.UserChange)
BY_USER = {"user": v1.Name}
USER_CHANGED: dict[int, type | str] = {200: people.UserEntry}


# Anybody may ask for an account; the rest is for approvers.


@described(Operation("Sign up for an account", {201: people.UserEntry}, body=people.Application))
@runs(Domain.THREAD, "the password is judged and hashed in threads")
async def create_user(request: Request) -> Response:
    site = site_of(request)
    body = await read_body(request.receive)
    with translated_errors():
        applicant = APPLICATION.read(body)
    try:
        user = await site.sign_up.apply(applicant, request_info_of(request.scope).client)
    except Throttled:
        raise TooManyRequests from None
    except NotPermitted as closed:
        raise Forbidden(str(closed)) from None
    except Complaint as refused:
        raise BadRequest(str(refused)) from None
    return json_answer(make_user_entry(user, to_approver=True), 201)


@described(Operation("All accounts", {200: people.UserList}, bearer=True))
@runs(Domain.LOOP, "awaits one query")
async def list_users(request: Request) -> Response:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.READ, Scope.ADMIN)
    for_approver = _looks_after_accounts(bearer)
    known = [user for user in await site.users.list_all() if for_approver or not user.pending]
    shown = (make_user_entry(user, to_approver=for_approver) for user in known)
    return json_answer(people.UserList(users=tuple(shown)))


@described(Operation("An account", USER_CHANGED, path=BY_USER, bearer=True))
@runs(Domain.LOOP, "awaits one query")
async def get_user(request: Request) -> Response:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.READ, Scope.ADMIN)
    name = _name(request)
    with translated_errors():
        user = await site.users.by_name(name)
        full = _looks_after_accounts(bearer) or bearer.user.name == name
        if user is None or (user.pending and not full):
            raise UnknownUser(name)
    return json_answer(make_user_entry(user, to_approver=full))


@described(
    Operation(
        "Approve or block an account, set its groups or limits",
        USER_CHANGED,
        path=BY_USER,
        body=people.UserChange,
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one write")
async def change_user(request: Request) -> Response:
    site = site_of(request)
    bearer = await _require_approver(request)
    body = await read_body(request.receive)
    with translated_errors():
        wanted = CHANGE.read(body)
        try:
            user = await site.accounts.change(_name(request), wanted, by=bearer.user.name)
        except AccountConflict as refused:
            raise Conflict(str(refused)) from None
    return _answer(user)


@described(
    Operation("Remove an account that was never approved", USER_CHANGED, path=BY_USER, bearer=True)
)
@runs(Domain.LOOP, "awaits one write")
async def reject_user(request: Request) -> Response:
    site = site_of(request)
    bearer = await _require_approver(request)
    with translated_errors():
        try:
            user = await site.accounts.reject(_name(request), by=bearer.user.name)
        except AccountConflict as refused:
            raise Conflict(str(refused)) from None
    return _answer(user)


async def _require_approver(request: Request) -> Bearer:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.ADMIN)
    if not is_approver(bearer.user):
        raise Forbidden("Only an approver may do this.")
    return bearer


def _answer(user: User) -> Response:
    return json_answer(make_user_entry(user, to_approver=True))


def _looks_after_accounts(bearer: Bearer) -> bool:
    """Whether an approver asks, with a token that is for more than reading."""
    return is_approver(bearer.user) and not bearer.scopes.isdisjoint({Scope.APPROVE, Scope.ADMIN})


def make_user_entry(user: User, *, to_approver: bool) -> people.UserEntry:
    return people.UserEntry(
        name=user.name,
        approver=is_approver(user),
        created=user.created,
        blocked=user.blocked if to_approver else UNSET,
        block_reason=user.block_reason if to_approver and user.blocked else UNSET,
        pending=user.pending if to_approver else UNSET,
        machine_limit=user.machine_limit if to_approver else UNSET,
        groups=tuple(sorted(user.groups)) if to_approver else UNSET,
    )


def _name(request: Request) -> str:
    return str(request.path_params["user"])


# Who contributed how many games.


@described(
    Operation(
        "Contributors to finished runs, in all or in the last thirty days",
        {200: v1.ContributorList},
        query={"period": Period, **PAGING},
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_contributors(request: Request) -> Response:
    site = site_of(request)
    query = request.query_params
    await find_bearer(request, site.bearers)
    with translated_errors():
        period = queries.read_choice(query, "period", Period)
        page, size = queries.read_page(query)
    found = await site.statistics.page(period, (page - 1) * size, size + 1)
    paces = site.fleet.activity.user_paces
    shown = tuple(
        make_contributor_entry(each, paces.get(each.user_name, 0.0)) for each in found[:size]
    )
    more = len(found) > size
    return json_answer(v1.ContributorList(contributors=shown, page=page, more=more))


def make_contributor_entry(who: Contributor, games_per_minute: float) -> v1.ContributorEntry:
    return v1.ContributorEntry(
        user=who.user_name,
        games=who.games,
        core_hours=to_finite(who.core_hours),
        tests=who.tests,
        games_per_hour=to_finite(60 * games_per_minute),
        last=who.last or UNSET,
    )


# Teams: make, list, join and leave.

NEW = Reader(people.NewTeam)
MEMBER = Reader(people.MemberBody)
GRANT = Reader(people.NewGrant)
BY_TEAM = {"team": v1.Name}
OF_TEAM = {"team": v1.Name, "user": v1.Name}
TEAM_CHANGED: dict[int, type | str] = {200: people.Team}


# Teams are in memory; only changing one awaits the database.


@described(Operation("The teams that you may see", {200: people.TeamList}, bearer=True))
@runs(Domain.LOOP, "teams are in memory")
async def list_teams(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, Scope.READ)
    found = site.teams.list_visible(actor)
    return json_answer(people.TeamList(teams=found))


@described(Operation("Create a team", {201: people.Team}, body=people.NewTeam, bearer=True))
@runs(Domain.LOOP, "awaits one write")
async def create_team(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, Scope.SUBMIT)
    body = await read_body(request.receive)
    with translated_errors():
        team = await site.teams.create(NEW.read(body).name, actor)
    return json_answer(team, 201)


@described(Operation("A team", TEAM_CHANGED, path=BY_TEAM, bearer=True))
@runs(Domain.LOOP, "teams are in memory")
async def get_team(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, Scope.READ)
    with translated_errors():
        return json_answer(site.teams.by_name(_team(request), actor))


@described(
    Operation(
        "Add a user to a team",
        TEAM_CHANGED,
        path=OF_TEAM,
        body=people.MemberBody,
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one write")
async def add_member(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, Scope.SUBMIT, Scope.APPROVE)
    body = await read_body(request.receive)
    with translated_errors():
        lead = MEMBER.read(body or b"{}").lead
        teams, user = site.teams, _user(request)
        return json_answer(await teams.add_member(_team(request), user, actor, lead=lead))


@described(Operation("Remove a user from a team", TEAM_CHANGED, path=OF_TEAM, bearer=True))
@runs(Domain.LOOP, "awaits one write")
async def remove_member(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, Scope.SUBMIT, Scope.APPROVE)
    with translated_errors():
        return json_answer(await site.teams.remove_member(_team(request), _user(request), actor))


async def _require_actor(request: Request, *scopes: Scope) -> Actor:
    site = site_of(request)
    return (await require_bearer(request, site.bearers, *scopes)).actor


# Repositories that the server may open with its own credentials. Approvers grant them, never an
# engine record.


@described(
    Operation(
        "Repositories that this server fetches with its own credentials",
        {200: people.GrantedList},
        bearer=True,
    )
)
@runs(Domain.LOOP, "they are in memory")
async def list_repositories(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, Scope.READ)
    found = site.repositories.list_visible(actor)
    return json_answer(people.GrantedList(repositories=found))


@described(
    Operation(
        "Let runs fetch a repository with the server's credentials",
        {201: people.GrantedRepository},
        body=people.NewGrant,
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one write")
async def grant_repository(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, Scope.APPROVE)
    body = await read_body(request.receive)
    with translated_errors():
        wish = GRANT.read(body)
        granted = await site.repositories.grant(wish.repository, wish.team, actor)
    return json_answer(granted, 201)


@described(
    Operation(
        "Stop fetching a repository with the server's credentials",
        {200: people.NewGrant},
        query={"repository": str, "team": v1.Name},
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one write")
async def revoke_repository(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, Scope.APPROVE)
    query = request.query_params
    repository, team = query.get("repository", ""), query.get("team", "")
    with translated_errors():
        await site.repositories.revoke(repository, team, actor)
    return json_answer(people.NewGrant(repository=repository, team=team))


def _team(request: Request) -> str:
    return str(request.path_params["team"])


def _user(request: Request) -> str:
    return str(request.path_params["user"])
