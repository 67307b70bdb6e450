"""Finds the caller of a request and what they may see, and turns errors of the features into HTTP
faults."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from rookery.core.errors import make_sentence
from rookery.core.model.run import (
    BadGameCount,
    BlockedByApprover,
    GamesCannotChange,
    NotApprover,
    NotYours,
    OwnRun,
    Run,
    RunFault,
)
from rookery.core.model.task import Task
from rookery.core.protocol.codec import WireFault
from rookery.server.app.site import Site
from rookery.server.engines.engines import NotOfTeam, UnknownEngine, UnknownVersion
from rookery.server.engines.grants import NotGranted
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.views import UnknownMachine, UnknownRun, UnknownTask
from rookery.server.files.store import FileRefused, NotYourFile, QuotaExceeded, UnknownFile
from rookery.server.http.faults import (
    BadRequest,
    BodyTooLarge,
    Conflict,
    Forbidden,
    NotFound,
    TooManyRequests,
    Unauthorized,
)
from rookery.server.http.scope import header, request_info_of, session_of
from rookery.server.people.bearers import IN_PERSON, Bearer, Bearers, OwnerRefused, TokenRefused
from rookery.server.people.login import LoginRefused, Throttled
from rookery.server.people.users import Scope, UnknownUser
from rookery.server.people.worker_credentials import VerifiedUser, WorkerCredentials
from rookery.server.teams.teams import NotLeading, UnknownTeam

# Errors of the features as faults that clients read, and runs that a reader may see.

NOT_ALLOWED = (NotYours, NotYourFile, NotApprover, BlockedByApprover, OwnRun, NotOfTeam, NotLeading)
NOT_THERE = (
    UnknownRun,
    UnknownTask,
    UnknownMachine,
    UnknownFile,
    UnknownEngine,
    UnknownTeam,
    NotGranted,
    UnknownVersion,
)
NOT_SENSIBLE = (BadGameCount, GamesCannotChange)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn errors of farm, files, people and sources into faults that clients read."""
    try:
        yield
    except WireFault as fault:
        raise BadRequest(str(fault)) from None
    except NOT_ALLOWED as fault:
        raise Forbidden(make_sentence(fault)) from None
    except NOT_THERE as fault:
        raise NotFound(make_sentence(fault)) from None
    except QuotaExceeded as fault:
        raise BodyTooLarge(str(fault)) from None
    except FileRefused as fault:
        raise BadRequest(str(fault)) from None
    except UnknownUser as fault:
        raise NotFound(str(fault)) from None
    except NOT_SENSIBLE as fault:
        raise BadRequest(make_sentence(fault)) from None
    except RunFault as fault:
        raise Conflict(make_sentence(fault)) from None


async def find_run(site: Site, run_id: str, viewer: str | None) -> Run:
    """A run that the viewer may see. Any other is reported as if it did not exist."""
    with translated_errors():
        run = await site.fleet.views.known_run(run_id)
        if not site.privacy.may_see(viewer, run):
            raise UnknownRun(run=run_id)
    return run


async def find_shown_run(site: Site, run_id: str, reader: Actor | None) -> Run:
    """As `find_run`, with the fields that the reader may see."""
    run = await find_run(site, run_id, None if reader is None else reader.name)
    return site.privacy.visible_part(reader, run)


async def find_tasks_at_play(site: Site, viewer: str | None) -> tuple[Task, ...]:
    with translated_errors():
        tasks = await site.fleet.views.tasks_at_play()
        if not site.privacy.hidden(viewer):
            return tasks
        seen = {
            run.id for run in await site.fleet.views.active() if site.privacy.may_see(viewer, run)
        }
    return tuple(task for task in tasks if task.run in seen)


def owns_machine(reader: Actor | None, short_name: str) -> bool:
    return reader is not None and short_name.startswith(f"{reader.name}-")


def may_see_machine_details(reader: Actor | None, short_name: str) -> bool:
    """Whether the reader may see a machine's private details: its owner and approvers may."""
    return owns_machine(reader, short_name) or (reader is not None and reader.approver)


# Who calls: the bearer of a token, or somebody who is logged in where the endpoint allows it.
#
# A session counts only if `guards.CsrfGuard` accepted it: a call that changes something must send
# the session's CSRF token, so that no other site can use a visitor's cookie.

SCHEME = "bearer "
BASIC = "basic "
NO_TOKEN = "A token can't do this: log in, or send your name and password."  # noqa: S105


async def require_bearer(request: Request, bearers: Bearers, *scopes: Scope) -> Bearer:
    """The caller, by session or by a token with one of these scopes. Raises Unauthorized or
    Forbidden."""
    bearer = await find_bearer(request, bearers)
    if bearer is None:
        raise Unauthorized
    if not bearer.scopes.intersection(scopes):
        raise Forbidden(
            f"This token's scopes don't allow this; it takes a token for {_either(scopes)}."
        )
    return bearer


async def find_bearer(request: Request, bearers: Bearers) -> Bearer | None:
    """The caller, if they show a token or are logged in. A bad token is refused even if none is
    needed."""
    shown, person = header(request.scope, b"authorization"), session_of(request.scope).user
    if shown and not shown.lower().startswith(SCHEME):
        raise Unauthorized
    try:
        if shown:
            return await bearers.find_bearer(shown[len(SCHEME) :].strip())
        return await bearers.find_logged_in(person) if person else None
    except OwnerRefused as refused:
        raise Forbidden(str(refused)) from None
    except TokenRefused as refused:
        raise Unauthorized(str(refused)) from None


async def viewer_name(request: Request, bearers: Bearers) -> str | None:
    """The name of the user whose permissions decide what an answer shows. Scripts show a token and
    browsers have a session. A worker's token gives no access to its owner's data, since it lies on
    other people's machines."""
    if not header(request.scope, b"authorization"):
        return session_of(request.scope).user or None
    bearer = await find_bearer(request, bearers)
    return bearer.user.name if bearer and Scope.READ in bearer.scopes else None


async def find_reader(request: Request, site: Site) -> Actor | None:
    """As `viewer_name`, and whether they are an approver, which decides what the log shows."""
    bearer = await find_bearer(request, site.bearers)
    return bearer.actor if bearer and Scope.READ in bearer.scopes else None


async def fetcher_name(request: Request, site: Site) -> str | None:
    """The name of the user who fetches a file to play with: as `viewer_name`, and also workers with
    their owner's token or password, as a bearer or by HTTP basic authentication."""
    shown = header(request.scope, b"authorization")
    if shown.lower().startswith(BASIC):
        return (await _by_password(request, shown[len(BASIC) :], site.credentials)).user.name
    bearer = await find_bearer(request, site.bearers)
    if bearer is not None and Scope.WORKER in bearer.scopes:
        return bearer.user.name
    return await viewer_name(request, site.bearers)


async def require_person(request: Request, site: Site) -> Bearer:
    """The user in person: logged in, or with name and password by HTTP basic authentication. Tokens
    are refused, so that a stolen one can't make another that outlives it."""
    shown = header(request.scope, b"authorization")
    if not shown:
        return await require_bearer(request, site.bearers, *Scope)
    if not shown.lower().startswith(BASIC):
        await find_bearer(request, site.bearers)
        raise Forbidden(NO_TOKEN)
    found = await _by_password(request, shown[len(BASIC) :], site.credentials)
    if not found.seal:
        raise Forbidden(NO_TOKEN)
    return Bearer(found.user, IN_PERSON)


async def find_fetcher(request: Request, site: Site) -> Actor | None:
    """As `fetcher_name`, and whether they are an approver. A machine never is."""
    name = await fetcher_name(request, site)
    if name is None or header(request.scope, b"authorization").lower().startswith(BASIC):
        return None if name is None else Actor(name)
    return await find_reader(request, site) or Actor(name)


async def _by_password(request: Request, text: str, credentials: WorkerCredentials) -> VerifiedUser:
    try:
        name, _, password = base64.b64decode(text, validate=True).decode().partition(":")
        known = credentials.find_verified(name, password)
        found = known or await credentials.check(
            name, password, request_info_of(request.scope).client
        )
    except Throttled:
        raise TooManyRequests from None
    except (LoginRefused, ValueError) as refused:
        raise Unauthorized(str(refused)) from None
    return found


def _either(scopes: tuple[Scope, ...]) -> str:
    return " or ".join(scopes)
