"""Finds out who calls: by a token, by a session, or by name and password.

A session counts only if `guards.CsrfGuard` accepted it: a call that changes something must send the
session's CSRF token, so that no other site can use a visitor's cookie.
"""

import base64

from starlette.requests import Request

from rookery.server.http.faults import Forbidden, Unauthorized
from rookery.server.http.scope import header, request_info_of, session_of
from rookery.server.identity.bearers import IN_PERSON, Bearers, Caller
from rookery.server.identity.users import Scope
from rookery.server.identity.worker_credentials import VerifiedUser, WorkerCredentials

TOKEN = "bearer "  # noqa: S105 - a word of a header
BASIC = "basic "
NO_TOKEN = "A token can't do this: log in, or send your name and password."  # noqa: S105
WORKERS = frozenset({Scope.WORKER})


async def find_caller(
    request: Request, bearers: Bearers, credentials: WorkerCredentials | None = None
) -> Caller | None:
    """The caller, if they show a token or are logged in; with `credentials` also by name and
    password, which workers send to fetch files. A bad token is refused even if none is needed."""
    shown = header(request.scope, b"authorization")
    if not shown:
        person = session_of(request.scope).user
        return await bearers.find_logged_in(person) if person else None
    if shown.lower().startswith(TOKEN):
        return await bearers.find_bearer(shown[len(TOKEN) :].strip())
    if credentials is not None and shown.lower().startswith(BASIC):
        return Caller((await _check_password(request, credentials)).user, WORKERS)
    raise Unauthorized


async def find_person(request: Request, bearers: Bearers, credentials: WorkerCredentials) -> Caller:
    """The user in person: logged in, or with name and password by HTTP basic authentication. Tokens
    are refused, so that a stolen one can't make another that outlives it."""
    if header(request.scope, b"authorization").lower().startswith(BASIC):
        found = await _check_password(request, credentials)
        if not found.seal:
            raise Forbidden(NO_TOKEN)
        return Caller(found.user, IN_PERSON)
    caller = await find_caller(request, bearers)
    if caller is None:
        raise Unauthorized
    if caller.token_id:
        raise Forbidden(NO_TOKEN)
    return caller


async def _check_password(request: Request, credentials: WorkerCredentials) -> VerifiedUser:
    """Check the name and the password that a request shows. Raises LoginRefused."""
    text = header(request.scope, b"authorization")[len(BASIC) :]
    try:
        name, _, password = base64.b64decode(text, validate=True).decode().partition(":")
    except ValueError as refused:
        raise Unauthorized(str(refused)) from None
    known = credentials.find_verified(name, password)
    client = request_info_of(request.scope).client
    return known or await credentials.check(name, password, client)
