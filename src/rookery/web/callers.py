"""Who calls, and what they may see; errors of the features as HTTP faults."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from rookery.errors import make_sentence
from rookery.farm.engines import NotOfTeam, UnknownEngine, UnknownVersion
from rookery.farm.views import UnknownMachine, UnknownRun, UnknownTask
from rookery.files.store import FileRefused, NotYourFile, QuotaExceeded, UnknownFile
from rookery.model.run import (
    BadGameCount,
    BlockedByApprover,
    GamesCannotChange,
    NotApprover,
    NotYours,
    OwnRun,
    Run,
    RunFault,
)
from rookery.model.task import Task
from rookery.people.bearers import IN_PERSON, Bearer, Bearers, OwnerRefused, TokenRefused
from rookery.people.login import LoginRefused, Throttled
from rookery.people.teams import NotLeading, UnknownTeam
from rookery.people.users import Scope, UnknownUser
from rookery.people.worker_credentials import VerifiedUser, WorkerCredentials
from rookery.protocol.codec import WireFault
from rookery.rules.lifecycle import Actor
from rookery.sources.grants import NotGranted
from rookery.web.faults import (
    BadRequest,
    BodyTooLarge,
    Conflict,
    Forbidden,
    NotFound,
    TooManyRequests,
    Unauthorized,
)
from rookery.web.scope import header, request_info_of, session_of
from rookery.web.site import Site

# Errors of the features as faults that clients read, and the runs that a reader may know of.

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
    """Turns errors of farm, files, people and sources into the faults that clients read."""
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
    """A run that the viewer may know of; of any other, what is said of those that never were."""
    with translated_errors():
        run = await site.fleet.views.known_run(run_id)
        if not site.privacy.may_see(viewer, run):
            raise UnknownRun(run=run_id)
    return run


async def find_shown_run(site: Site, run_id: str, reader: Actor | None) -> Run:
    """As `find_run`, with as much of it as the reader may see."""
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


def is_concerned(reader: Actor | None, short_name: str) -> bool:
    """Whether a machine is somebody's business: its owner's, and approvers'."""
    return owns_machine(reader, short_name) or (reader is not None and reader.approver)


# Who calls: the bearer of a token or somebody who is logged in, as far as the endpoint lets them.
#
# A session counts only where `guards.CsrfGuard` left it: for a call that changes something it must
# come with its token, so that no other site can use a visitor's cookie.

SCHEME = "bearer "
BASIC = "basic "
NO_TOKEN = "This takes you in person: log in, or send your name and password."  # noqa: S105


async def require_bearer(request: Request, bearers: Bearers, *scopes: Scope) -> Bearer:
    """Whoever calls, by session or with a token for one of these; raises Unauthorized or
    Forbidden."""
    bearer = await find_bearer(request, bearers)
    if bearer is None:
        raise Unauthorized
    if not bearer.scopes.intersection(scopes):
        raise Forbidden(f"This token is not made for this; it takes one for {_either(scopes)}.")
    return bearer


async def find_bearer(request: Request, bearers: Bearers) -> Bearer | None:
    """Whoever calls, if they show a token or are logged in; a bad token is refused even where none
    is needed."""
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
    """Whose eyes an answer is for: a script shows a token, a browser has a session. A worker's
    token lies on other people's machines, so that it shows nothing of what is its owner's."""
    if not header(request.scope, b"authorization"):
        return session_of(request.scope).user or None
    bearer = await find_bearer(request, bearers)
    return bearer.user.name if bearer and Scope.READ in bearer.scopes else None


async def find_reader(request: Request, site: Site) -> Actor | None:
    """As `viewer_name`, with whether they are an approver: what the log shows depends on it."""
    bearer = await find_bearer(request, site.bearers)
    return bearer.actor if bearer and Scope.READ in bearer.scopes else None


async def fetcher_name(request: Request, site: Site) -> str | None:
    """Who fetches a file to play with: as `viewer_name`, and workers with the token or the password
    of their owner, as a bearer or in HTTP's basic form."""
    shown = header(request.scope, b"authorization")
    if shown.lower().startswith(BASIC):
        return (await _by_password(request, shown[len(BASIC) :], site.credentials)).user.name
    bearer = await find_bearer(request, site.bearers)
    if bearer is not None and Scope.WORKER in bearer.scopes:
        return bearer.user.name
    return await viewer_name(request, site.bearers)


async def require_person(request: Request, site: Site) -> Bearer:
    """Somebody in person: logged in, or with name and password in HTTP's basic form. No token will
    do, or whoever found one could make another that outlives it."""
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
    """As `fetcher_name`, with whether they are an approver; a machine never is."""
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
