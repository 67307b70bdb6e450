"""The caller's own account: read and change it, with its tokens."""

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.errors import Complaint
from rookery.core.protocol import people, v1
from rookery.core.protocol.codec import Reader, or_none
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer, read_body
from rookery.server.http.callers import (
    find_bearer,
    require_bearer,
    require_person,
    translated_errors,
)
from rookery.server.http.faults import (
    BadRequest,
    Conflict,
    Forbidden,
    NotFound,
    TooManyRequests,
    Unauthorized,
)
from rookery.server.http.openapi import Operation, described
from rookery.server.http.scope import request_info_of, session_of
from rookery.server.people.bearers import Bearer
from rookery.server.people.login import Throttled
from rookery.server.people.users import (
    AccountConflict,
    NotPermitted,
    Scope,
    Token,
    UnknownToken,
    User,
    is_approver,
    shown_scopes,
)

CHANGE = Reader(people.MeChange)
NEW_TOKEN = Reader(people.NewToken)
UNSEEN = {"cache-control": "no-store"}


# Everything about the caller's own account; the list of users says what others may see.


@described(Operation("Your account", {200: people.MeEntry}, bearer=True))
@runs(Domain.LOOP, "awaits one query")
async def get_me(request: Request) -> Response:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.READ)
    return _show_me(request, bearer, bearer.user)


@described(
    Operation(
        "Change your password, e-mail address or repositories",
        {200: people.MeEntry},
        body=people.MeChange,
        bearer=True,
    )
)
@runs(Domain.THREAD, "passwords are checked, judged and hashed in threads")
async def change_me(request: Request) -> Response:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.SUBMIT, Scope.ADMIN)
    body, name = await read_body(request.receive), bearer.user.name
    with translated_errors():
        changed = await _change(request, name, CHANGE.read(body))
    return _show_me(request, bearer, changed)


@described(Operation("Your tokens, oldest first", {200: people.TokenList}, bearer=True))
@runs(Domain.LOOP, "awaits one query")
async def list_tokens(request: Request) -> Response:
    site = site_of(request)
    bearer, now = await _reader(request), site.clock.now()
    found = await site.accounts.tokens.of(bearer.user.name)
    shown = tuple(token.shown(now, current=token.id == bearer.token_id) for token in found)
    return json_answer(people.TokenList(tokens=shown), headers=UNSEEN)


@described(
    Operation(
        "Create a token; its secret is shown only once",
        {201: people.MadeToken},
        body=people.NewToken,
        find_logged_in=True,
    )
)
@runs(Domain.THREAD, "awaits one write; a password is checked in a thread")
async def create_token(request: Request) -> Response:
    site = site_of(request)
    person = await require_person(request, site)
    body = await read_body(request.receive)
    with translated_errors():
        wish = NEW_TOKEN.read(body or b"{}")
        scopes = frozenset(map(Scope, or_none(wish.scopes) or ()))
        try:
            minted = await site.profiles.create_token(
                person.user, scopes, or_none(wish.days), wish.note
            )
        except AccountConflict as refused:
            raise Conflict(str(refused)) from None
        except Complaint as refused:
            raise BadRequest(str(refused)) from None
    made = people.MadeToken(secret=minted.secret, token=minted.token.shown(site.clock.now()))
    return json_answer(made, 201, UNSEEN)


@described(
    Operation(
        "Revoke one of your tokens",
        {200: people.TokenEntry},
        path={"token_id": v1.Name},
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one write")
async def revoke_token(request: Request) -> Response:
    site = site_of(request)
    bearer = await find_bearer(request, site.bearers)
    if bearer is None:
        raise Unauthorized
    revoked = await revoke_own_token(site, bearer, str(request.path_params["token_id"]))
    return json_answer(revoked.shown(site.clock.now(), current=revoked.id == bearer.token_id))


async def revoke_own_token(site: Site, bearer: Bearer, token_id: str) -> Token:
    """Revoke a token of the bearer. Raises NotFound or Forbidden."""
    try:
        revoked = await site.profiles.revoke(bearer, token_id)
    except UnknownToken:
        raise NotFound("You have no such token.") from None
    except NotPermitted as refused:
        raise Forbidden(str(refused)) from None
    # Have effect here at once, without waiting for the announcement.
    site.bearers.forget_all()
    site.credentials.tokens.forget(token_id)
    return revoked


async def _reader(request: Request) -> Bearer:
    site = site_of(request)
    return await require_bearer(request, site.bearers, Scope.READ)


async def _change(request: Request, name: str, wanted: people.MeChange) -> User:
    try:
        return await change_account(request, name, wanted)
    except Throttled:
        raise TooManyRequests from None
    except NotPermitted as refused:
        raise Forbidden(str(refused)) from None
    except Complaint as refused:
        raise BadRequest(str(refused)) from None


async def change_account(request: Request, name: str, wanted: people.MeChange) -> User:
    """Change the caller's own account. A new password ends all other sessions. Raises the same
    errors as `Profiles.change`."""
    site = site_of(request)
    catalogue, client = site.privacy.catalogue(name), request_info_of(request.scope).client
    changed = await site.profiles.change(name, wanted, client, catalogue)
    # Have effect here at once, without waiting for the announcement.
    site.bearers.forget_all()
    site.credentials.forget(name)
    if wanted.password is not UNSET:
        _go_on(request, changed)
    return changed


def _show_me(request: Request, bearer: Bearer, user: User) -> Response:
    site = site_of(request)
    session = session_of(request.scope)
    entry = people.MeEntry(
        name=user.name,
        email=user.email,
        approver=is_approver(user),
        groups=tuple(sorted(user.groups)),
        created=user.created,
        machine_limit=user.machine_limit,
        teams=tuple(sorted(site.teams.of(user.name))),
        repositories=dict(sorted(user.repositories.items())),
        scopes=shown_scopes(bearer.scopes),
        csrf_token=UNSET if bearer.token_id else session.csrf_token(),
    )
    return json_answer(entry, headers=UNSEEN)


def _go_on(request: Request, user: User) -> None:
    """Keep the session in which a new password was set, although it ends all others."""
    sessions, session = site_of(request).sessions, session_of(request.scope)
    sessions.forget(user.name)
    if session.user == user.name:
        session.sign_in(user.name, sessions.mark(user), keep=session.data.keep)
