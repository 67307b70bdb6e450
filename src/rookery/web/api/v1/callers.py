"""Who calls: the bearer of a token or somebody who is logged in, as far as the endpoint lets them.

A session counts only where `middleware.csrf` left it: for a call that changes something it must
come with its token, so that no other site can use a visitor's cookie.
"""

import base64

from starlette.requests import Request

from rookery.core.lifecycle import Actor
from rookery.service.bearers import IN_PERSON, Bearer, Bearers, OwnerRefused, TokenRefused
from rookery.service.credentials import Credentials, Verified
from rookery.service.login import LoginRefused, Throttled
from rookery.service.tokens import Scope
from rookery.web.api.desk import ApiDesk
from rookery.web.faults import Forbidden, TooManyRequests, Unauthorized
from rookery.web.scope import facts_of, header, session_of

SCHEME = "bearer "
BASIC = "basic "
NO_TOKEN = "This takes you in person: log in, or send your name and password."  # noqa: S105


async def bearer_of(request: Request, bearers: Bearers, *scopes: Scope) -> Bearer:
    """Whoever calls, by session or with a token for one of these; raises Unauthorized or
    Forbidden."""
    bearer = await visitor_of(request, bearers)
    if bearer is None:
        raise Unauthorized
    if not bearer.scopes.intersection(scopes):
        raise Forbidden(f"This token is not made for this; it takes one for {_either(scopes)}.")
    return bearer


async def visitor_of(request: Request, bearers: Bearers) -> Bearer | None:
    """Whoever calls, if they show a token or are logged in; a bad token is refused even where none
    is needed."""
    shown, person = header(request.scope, b"authorization"), session_of(request.scope).user
    if shown and not shown.lower().startswith(SCHEME):
        raise Unauthorized
    try:
        if shown:
            return await bearers.bearer(shown[len(SCHEME) :].strip())
        return await bearers.in_person(person) if person else None
    except OwnerRefused as refused:
        raise Forbidden(str(refused)) from None
    except TokenRefused as refused:
        raise Unauthorized(str(refused)) from None


async def viewer_of(request: Request, bearers: Bearers) -> str | None:
    """Whose eyes an answer is for: a script shows a token, a browser has a session. A worker's
    token lies on other people's machines, so that it shows nothing of what is its owner's."""
    if not header(request.scope, b"authorization"):
        return session_of(request.scope).user or None
    bearer = await visitor_of(request, bearers)
    return bearer.user.name if bearer and Scope.READ in bearer.scopes else None


async def reader_of(request: Request, desk: ApiDesk) -> Actor | None:
    """As `viewer_of`, with whether they are an approver: what the log shows depends on it."""
    bearer = await visitor_of(request, desk.bearers)
    return bearer.actor if bearer and Scope.READ in bearer.scopes else None


async def fetcher_of(request: Request, desk: ApiDesk) -> str | None:
    """Who fetches a file to play with: as `viewer_of`, and workers with the token or the password
    of their owner, as a bearer or in HTTP's basic form."""
    shown = header(request.scope, b"authorization")
    if shown.lower().startswith(BASIC):
        return (await _by_password(request, shown[len(BASIC) :], desk.credentials)).user.name
    bearer = await visitor_of(request, desk.bearers)
    if bearer is not None and Scope.WORKER in bearer.scopes:
        return bearer.user.name
    return await viewer_of(request, desk.bearers)


async def person_of(request: Request, desk: ApiDesk) -> Bearer:
    """Somebody in person: logged in, or with name and password in HTTP's basic form. No token will
    do, or whoever found one could make another that outlives it."""
    shown = header(request.scope, b"authorization")
    if not shown:
        return await bearer_of(request, desk.bearers, *Scope)
    if not shown.lower().startswith(BASIC):
        await visitor_of(request, desk.bearers)
        raise Forbidden(NO_TOKEN)
    found = await _by_password(request, shown[len(BASIC) :], desk.credentials)
    if not found.seal:
        raise Forbidden(NO_TOKEN)
    return Bearer(found.user, IN_PERSON)


async def fetching_actor(request: Request, desk: ApiDesk) -> Actor | None:
    """As `fetcher_of`, with whether they are an approver; a machine never is."""
    name = await fetcher_of(request, desk)
    if name is None or header(request.scope, b"authorization").lower().startswith(BASIC):
        return None if name is None else Actor(name)
    return await reader_of(request, desk) or Actor(name)


async def _by_password(request: Request, text: str, credentials: Credentials) -> Verified:
    try:
        name, _, password = base64.b64decode(text, validate=True).decode().partition(":")
        known = credentials.known(name, password)
        found = known or await credentials.check(name, password, facts_of(request.scope).client)
    except Throttled:
        raise TooManyRequests from None
    except (LoginRefused, ValueError) as refused:
        raise Unauthorized(str(refused)) from None
    return found


def _either(scopes: tuple[Scope, ...]) -> str:
    return " or ".join(scopes)
