"""Who calls, what they ask for, and what they may see; errors of the features as HTTP faults."""

import base64
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from starlette.requests import Request

from rookery.farm.engines import TEAM_MARK, NotOfTeam, UnknownEngine, UnknownVersion
from rookery.farm.views import UnknownMachine, UnknownRun, UnknownTask
from rookery.files.access import RepeatedUpload
from rookery.files.store import FileRefused, NotYourFile, QuotaExceeded, UnknownFile
from rookery.model.run import (
    BadGameCount,
    GamesCannotChange,
    NotApprover,
    NotYours,
    OwnRun,
    Run,
    RunFault,
)
from rookery.model.task import Task
from rookery.people.bearers import IN_PERSON, Bearer, Bearers, OwnerRefused, TokenRefused
from rookery.people.login import LoginRefused, Throttled, VerifiedUser, WorkerCredentials
from rookery.people.teams import NotLeading, UnknownTeam
from rookery.people.users import Scope, UnknownUser
from rookery.protocol.codec import BadName, BadParameter, WireFault
from rookery.protocol.user_queries import parse_integer
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

NOT_ALLOWED = (NotYours, NotYourFile, NotApprover, OwnRun, NotOfTeam, NotLeading)
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
        raise Forbidden(_sentence(fault)) from None
    except NOT_THERE as fault:
        raise NotFound(_sentence(fault)) from None
    except QuotaExceeded as fault:
        raise BodyTooLarge(str(fault)) from None
    except FileRefused as fault:
        raise BadRequest(str(fault)) from None
    except UnknownUser as fault:
        raise NotFound(str(fault)) from None
    except NOT_SENSIBLE as fault:
        raise BadRequest(_sentence(fault)) from None
    except RunFault as fault:
        raise Conflict(_sentence(fault)) from None


async def find_run(site: Site, run_id: str, viewer: str | None) -> Run:
    """A run that the viewer may know of; of any other, what is said of those that never were."""
    with translated_errors():
        run = await site.fleet.views.known_run(run_id)
        if not site.privacy.may_see(viewer, run):
            raise UnknownRun(run=run_id)
    return run


async def find_shown_run(site: Site, run_id: str, reader: Actor | None) -> Run:
    """As `seen_run`, with as much of it as the reader may see."""
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


def _sentence(fault: RunFault) -> str:
    text = str(fault)
    return f"{text[:1].upper()}{text[1:]}."


# Who calls: the bearer of a token or somebody who is logged in, as far as the endpoint lets them.
#
# A session counts only where `middleware.csrf` left it: for a call that changes something it must
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
    """As `viewer_of`, with whether they are an approver: what the log shows depends on it."""
    bearer = await find_bearer(request, site.bearers)
    return bearer.actor if bearer and Scope.READ in bearer.scopes else None


async def fetcher_name(request: Request, site: Site) -> str | None:
    """Who fetches a file to play with: as `viewer_of`, and workers with the token or the password
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
    """As `fetcher_of`, with whether they are an approver; a machine never is."""
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


# Query strings of the JSON API as typed values; raises WireFault.

MOST_PAGES = 10_000_000
MOST_ROWS = 200
ORDINARY_ROWS = 50
LONGEST_NAME = 100
MOST_COMMITS = 2**63 - 1
SWITCHES = {"true": True, "1": True, "false": False, "0": False}
E = TypeVar("E", bound=StrEnum)
_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)
_ID_PREFIX = re.compile(r"[0-9a-f]{1,24}", re.ASCII)


def read_page(query: Mapping[str, str]) -> tuple[int, int]:
    """`page` and `size`, the first page of ordinary length where they are left out."""
    given = {"page": "1", "size": str(ORDINARY_ROWS), **query}
    page = parse_integer(given, "page", least=1, most=MOST_PAGES)
    return page, parse_integer(given, "size", least=1, most=MOST_ROWS)


def read_choice(query: Mapping[str, str], name: str, choices: type[E]) -> E:
    """One of the words; the first where none is given."""
    words = list(choices)
    found = query.get(name, words[0].value)
    if found not in words:
        raise BadParameter(name=name, text=f"expected one of {', '.join(words)}")
    return choices(found)


def read_name(query: Mapping[str, str], name: str) -> str:
    found = query.get(name, "")
    if len(found) > LONGEST_NAME or not found.isprintable():
        raise BadParameter(name=name, text="expected a name")
    return found


def read_run_id(query: Mapping[str, str]) -> str:
    """The id of a run, or an empty text."""
    found = query.get("run", "")
    if found and not _ID.fullmatch(found):
        raise BadName(name=found[:100], form="24 hex digits")
    return found


def read_prefix(query: Mapping[str, str]) -> str:
    """The beginning of a run's id, or an empty text."""
    found = query.get("prefix", "")
    if found and not _ID_PREFIX.fullmatch(found):
        raise BadName(name=found[:100], form="up to 24 hex digits")
    return found


def read_switch(query: Mapping[str, str], name: str) -> bool:
    found = query.get(name, "false")
    if found not in SWITCHES:
        raise BadParameter(name=name, text="expected true or false")
    return SWITCHES[found]


def read_after(query: Mapping[str, str], last_seen: str) -> int | None:
    """The number that a reader who comes back brings along by itself, or else `after`."""
    if last_seen.isdecimal() and last_seen.isascii():
        return min(int(last_seen[:20]), MOST_COMMITS)
    return parse_integer(query, "after", least=0, most=MOST_COMMITS) if "after" in query else None


def read_before(query: Mapping[str, str]) -> float | None:
    """A moment in ISO 8601 as UNIX seconds."""
    text = query.get("before")
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        raise BadParameter(
            name="before", text="expected a time such as 2026-03-01T12:00Z"
        ) from None


def read_moment_cursor(text: str) -> tuple[float, int] | None:
    """Where a page of the log ended, as `time-number`; None for what is no such place."""
    seconds, mark, number = text[:40].partition("-")
    whole, _, part = seconds.partition(".")
    digits = (whole, part or "0", number)
    if not mark or not all(each.isascii() and each.isdigit() for each in digits):
        return None
    return (float(seconds), int(number)) if len(whole) < 12 and len(number) < 18 else None


# Who uploads a file, and for which engine.


@dataclass(frozen=True, slots=True)
class Uploader:
    """A user, and the engine that a file is uploaded for; empty where none was named."""

    user: str
    engine: str


async def require_uploader(request: Request, site: Site) -> Uploader:
    """Raises Unauthorized or Forbidden, and NotFound for an engine that the user may not know."""
    user = (await require_bearer(request, site.bearers, Scope.SUBMIT)).user.name
    with translated_errors():
        engine = read_name(request.query_params, "engine")
        site.file_access.check_engine(user, engine)
    return Uploader(user, engine)


async def note_repeat(
    site: Site, uploader: Uploader, file: str, size: int
) -> RepeatedUpload | None:
    """Stores an upload of a file that is there already, where the uploader can't see that; raises
    BodyTooLarge as for a new file. None where the uploader sees the first upload."""
    if not site.file_access.may_see(uploader.user, file):
        repeat = RepeatedUpload(file, uploader.engine, uploader.user, site.clock.now(), size)
        with translated_errors():
            await site.file_access.add_repeat(repeat, limit=site.upload_quota)
    return site.file_access.visible_repeat(uploader.user, file)


def check_name(site: Site, uploader: Uploader, name: str) -> None:
    """Names that begin with a team's and `~` are for that team alone, and what belongs to a private
    engine has such a name; raises Forbidden or BadRequest, whether the name is taken or not."""
    team, mark, _ = name.partition(TEAM_MARK)
    if mark and team not in site.teams.of(uploader.user):
        raise Forbidden("Only members of a team give files that are named after it.")
    owner = site.engines.private.get(uploader.engine)
    if owner is not None and not (mark and team == owner):
        wanted = f"{owner}{TEAM_MARK}{name}"
        raise BadRequest(f"What belongs to a private engine is named after its team: {wanted}.")
