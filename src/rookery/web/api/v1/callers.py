"""Who calls: the bearer of a token, who must be let do what the endpoint does."""

import base64

from starlette.requests import Request

from rookery.core.lifecycle import Actor
from rookery.service.bearers import Bearer, Bearers, OwnerRefused, TokenRefused
from rookery.service.credentials import Credentials
from rookery.service.groups import is_approver
from rookery.service.login import LoginRefused, Throttled
from rookery.service.tokens import Scope
from rookery.web.api.desk import ApiDesk
from rookery.web.faults import Forbidden, TooManyRequests, Unauthorized
from rookery.web.scope import facts_of, header, session_of

SCHEME = "bearer "
BASIC = "basic "


async def bearer_of(request: Request, bearers: Bearers, *scopes: Scope) -> Bearer:
    """Whoever calls, with a token for one of these; raises Unauthorized or Forbidden."""
    bearer = await visitor_of(request, bearers)
    if bearer is None:
        raise Unauthorized
    if not bearer.scopes.intersection(scopes):
        raise Forbidden(f"This token is not made for this; it takes one for {_either(scopes)}.")
    return bearer


async def visitor_of(request: Request, bearers: Bearers) -> Bearer | None:
    """Whoever calls, if they show a token; a bad one is refused even where none is needed."""
    shown = header(request.scope, b"authorization")
    if not shown:
        return None
    if not shown.lower().startswith(SCHEME):
        raise Unauthorized
    try:
        return await bearers.bearer(shown[len(SCHEME) :].strip())
    except OwnerRefused as refused:
        raise Forbidden(str(refused)) from None
    except TokenRefused as refused:
        raise Unauthorized(str(refused)) from None


async def viewer_of(request: Request, bearers: Bearers) -> str | None:
    """Whose eyes an answer is for: a script shows a token, a browser has a session. A worker's
    token lies on other people's machines, so that it shows nothing of what is its owner's."""
    bearer = await visitor_of(request, bearers)
    if bearer is None:
        return session_of(request.scope).user or None
    return bearer.user.name if Scope.READ in bearer.scopes else None


async def reader_of(request: Request, desk: ApiDesk) -> Actor | None:
    """As `viewer_of`, with whether they are an approver: what the log shows depends on it."""
    viewer = await viewer_of(request, desk.bearers)
    bearer = await visitor_of(request, desk.bearers)
    if viewer is None or bearer is not None:
        return None if viewer is None or bearer is None else bearer.actor
    user = await desk.users.by_name(viewer)
    return None if user is None else Actor(user.name, approver=is_approver(user))


async def fetcher_of(request: Request, desk: ApiDesk) -> str | None:
    """Who fetches a file to play with: as `viewer_of`, and workers with the token or the password
    of their owner, as a bearer or in HTTP's basic form."""
    shown = header(request.scope, b"authorization")
    if shown.lower().startswith(BASIC):
        return await _by_password(request, shown[len(BASIC) :], desk.credentials)
    bearer = await visitor_of(request, desk.bearers)
    if bearer is not None and Scope.WORKER in bearer.scopes:
        return bearer.user.name
    return await viewer_of(request, desk.bearers)


async def _by_password(request: Request, text: str, credentials: Credentials) -> str:
    try:
        name, _, password = base64.b64decode(text, validate=True).decode().partition(":")
        known = credentials.known(name, password)
        found = known or await credentials.check(name, password, facts_of(request.scope).client)
    except Throttled:
        raise TooManyRequests from None
    except (LoginRefused, ValueError) as refused:
        raise Unauthorized(str(refused)) from None
    return found.user.name


def _either(scopes: tuple[Scope, ...]) -> str:
    return " or ".join(scopes)
