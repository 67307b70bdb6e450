"""Repositories that the server may open with its own credentials. Approvers grant them, never an
engine record."""

from rookery.core.protocol import people, v1
from rookery.server.engines.grants import GrantedRepositories
from rookery.server.http.endpoint import LOOP, Endpoints
from rookery.server.identity.bearers import Caller
from rookery.server.identity.users import Scope

api = Endpoints("/api/v1")


@api("GET /repositories", LOOP, "they are in memory", scope=Scope.READ)
async def list_repositories(granted: GrantedRepositories, caller: Caller) -> people.GrantedList:
    """Repositories that this server fetches with its own credentials."""
    return people.GrantedList(repositories=granted.list_visible(caller.actor))


@api("POST /repositories", LOOP, "awaits one write", scope=Scope.APPROVE, status=201)
async def grant_repository(
    granted: GrantedRepositories, caller: Caller, wish: people.NewGrant
) -> people.GrantedRepository:
    """Let runs fetch a repository with the server's credentials."""
    return await granted.grant(wish.repository, wish.team, caller.actor)


@api("DELETE /repositories", LOOP, "awaits one write", scope=Scope.APPROVE)
async def revoke_repository(
    granted: GrantedRepositories, caller: Caller, repository: str = "", team: v1.Name = ""
) -> people.NewGrant:
    """Stop fetching a repository with the server's credentials."""
    await granted.revoke(repository, team, caller.actor)
    return people.NewGrant(repository=repository, team=team)
