"""User accounts: the list for approvers, and a page of each user for everybody."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.errors import Complaint
from rookery.core.model.actor import Actor
from rookery.core.model.task import Task
from rookery.core.protocol.people import UserChange
from rookery.server.boundary.domains import Domain
from rookery.server.engines.privacy import Privacy
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.statistics_rows import Contributor, Period, Statistics
from rookery.server.http.answers import address_of
from rookery.server.http.endpoint import UNSEEN
from rookery.server.http.error_table import REFUSALS, shape_of, text_of
from rookery.server.http.faults import Forbidden, NotFound
from rookery.server.http.form import (
    TICK,
    DeclaredForm,
    Input,
    ReadForm,
    ShownForm,
    declare,
    whole_from,
)
from rookery.server.http.pages.filters import read_search
from rookery.server.http.pages.listing import ListAddress, make_open_pager, read_page
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form, is_local, session_of
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.links import LinkPurpose, LinkSigner
from rookery.server.identity.users import (
    APPROVERS,
    UnknownUser,
    User,
    UserKind,
    UserQuery,
    Users,
    find_account,
    is_approver,
)
from rookery.server.people.account_changes import AccountChanges
from rookery.server.show.run_paces import NO_PACES, load_paces

HERE = "/users"
PAGE_ROWS = 50
LONGEST_TEXT = 100
LONGEST_REASON = 500
MOST_MACHINES = 1_000_000
MOST_MB = 10**9 - 1
MOST_SHOWN = 10
NOTHING_GIVEN = Contributor("", 0, 0.0, 0, None)


pages = Pages(HERE)
routes = pages.make_routes


def _check_approver(viewer: User) -> None:
    if not is_approver(viewer):
        raise Forbidden("Only an approver may do this.")


# The list, for approvers.


@pages("GET /users", "awaits two queries; the page is rendered in a thread")
async def list_accounts(
    viewer: User, users: Users, statistics: Statistics, clock: Clock, query: QueryParams
) -> Page:
    _check_approver(viewer)
    state, text = query.get("state", ""), read_search(query)
    kind = UserKind(state) if state in set(UserKind) else UserKind.ALL
    page = read_page(query)
    first = (page - 1) * PAGE_ROWS
    found = await users.page(UserQuery(text, kind, True, first, PAGE_ROWS + 1))
    address = ListAddress(HERE, {"state": "" if kind is UserKind.ALL else kind.value, "text": text})
    shown = {
        "users": found[:PAGE_ROWS],
        "approvers": [user.name for user in found if is_approver(user)],
        "given": await statistics.of_users([user.name for user in found]),
        "nothing": NOTHING_GIVEN,
        "address": address,
        "pager": make_open_pager(address, page, more=len(found) > PAGE_ROWS),
        "kind": kind.value,
        "here": address.change(page=page),
        "now": clock.now(),
    }
    return Page("users.html", shown)


# The page of one user.


class Limits(Struct, frozen=True, kw_only=True):
    """What the form of an account's limits sets. Without a quota, that of the site counts."""

    machine_limit: int
    upload_mb: int | None = None
    approver: bool


LIMITS = DeclaredForm(
    declare(
        Input(
            "machine_limit",
            "Machine limit",
            whole_from(0, MOST_MACHINES),
            expected=f"A whole number from 0 to {MOST_MACHINES:,}.",
            more={"required": True, "maxlength": 7},
        ),
        Input(
            "upload_mb",
            "File storage, in MB",
            whole_from(0, MOST_MB),
            "Default: the limit of this site.",
            expected=f"A whole number from 0 to {MOST_MB:,}, or empty.",
            more={"maxlength": 9},
        ),
        Input("approver", "Approver", TICK, "may approve tests, and approve and block accounts"),
    )
)


def _show_limits(user: User) -> ShownForm:
    limits = Limits(
        machine_limit=user.machine_limit, upload_mb=user.upload_mb, approver=is_approver(user)
    )
    return LIMITS.show(LIMITS.spell(asdict(limits)))


@dataclass(frozen=True, slots=True)
class UserPage(Parts):
    """The page of a user, with the form as it was typed if it was refused."""

    viewer: User | None
    users: Users
    reads: FleetReads
    statistics: Statistics
    visible_runs: VisibleRuns
    fleet: Fleet
    privacy: Privacy
    session: Session
    clock: Clock

    async def show(self, name: str, typed: ShownForm | None = None) -> Page:
        user, now = await self._find_user(name), self.clock.now()
        given = (await self.statistics.of_users([user.name]))[user.name]
        reset_link = self.session.take_secret(_name_secret(user.name), now)
        by_approver = self.viewer is not None and is_approver(self.viewer)
        is_own = self.viewer is not None and self.viewer.name == user.name
        tasks = await self.visible_runs.tasks_at_play(self.viewer.name if self.viewer else None)
        own = [task for task in tasks if task.machine.user == user.name]
        view = {
            "now": now,
            "user": user,
            "approver": is_approver(user),
            "is_own": is_own,
            # What approvers and the user see of the account.
            "account": user if by_approver or is_own else None,
            "may_change": by_approver and not is_own,
            "may_reset": by_approver and not (is_approver(user) or user.pending or user.blocked),
            "reset_link": reset_link,
            "all_time": given.get(Period.ALL, NOTHING_GIVEN),
            "month": given.get(Period.MONTH, NOTHING_GIVEN),
            "last": find_last(given, own),
            "tasks": own,
            "no_paces": NO_PACES,
            "limits": typed or _show_limits(user),
            **await self._load_runs(user, now),
        }
        return Page("user.html", view, 400 if typed else 200, headers=UNSEEN if reset_link else {})

    async def _find_user(self, name: str) -> User:
        viewer = self.viewer
        insider = viewer is not None and (is_approver(viewer) or viewer.name == name)
        return await find_account(self.users, name[:LONGEST_TEXT], to_insider=insider)

    async def _load_runs(self, user: User, now: datetime) -> Mapping[str, object]:
        """The newest runs of the user that the viewer may see."""
        viewer, privacy = self.viewer, self.privacy
        name = None if viewer is None else viewer.name
        actor = None if viewer is None else Actor(viewer.name, approver=is_approver(viewer))
        hidden = privacy.hidden(name)
        query = FinishedRunsQuery(page_size=MOST_SHOWN + 1, owner=user.name, hidden=hidden)
        finished = await self.reads.finished(query)
        active = await self.visible_runs.list_active(name)
        own = [run for run in active if run.plan.owner == user.name]
        newest = sorted(own, key=lambda run: run.created, reverse=True)[:MOST_SHOWN]
        return {
            "open_runs": [privacy.visible_part(actor, run) for run in newest],
            "paces": await load_paces(self.fleet, self.reads, own, now),
            "finished": [privacy.visible_part(actor, run) for run in finished[:MOST_SHOWN]],
            "has_more_runs": max(len(own), len(finished)) > MOST_SHOWN,
        }


@pages("GET /users/{user}", "awaits three queries; the page is rendered in a thread")
async def show_user(user: str, page: UserPage) -> Page:
    return await page.show(user)


def find_last(given: Mapping[Period, Contributor], tasks: Iterable[Task]) -> datetime | None:
    """The last result. Contributions are counted only at the end of a run, so the tasks at play are
    asked too."""
    counted = (each.last for each in given.values() if each.last)
    return max((*counted, *(task.reported for task in tasks)), default=None)


# An approver's link to a new password. Its route precedes that of the commands.


@pages("POST /users/{user}/reset", "awaits one write", where=Domain.LOOP)
async def make_reset_link(
    user: str, viewer: User, accounts: Accounts, links: LinkSigner, clock: Clock, request: Request
) -> Response:
    """Make a link to a new password, for a user who gets no mail from here. The next page shows it
    once."""
    _check_approver(viewer)
    session = session_of(request.scope)
    try:
        found = await accounts.allow_reset(user, by=viewer.name)
    except Complaint as refused:
        session.flash(str(refused), "error")
    else:
        token = links.make(LinkPurpose.RESET, found)
        link = f"{address_of(request)}/login/new-password?token={token}"
        session.keep_secret(_name_secret(user), link, clock.now())
    return redirect_to(f"{HERE}/{user}")


def _name_secret(user: str) -> str:
    return f"reset {user}"


# Commands of approvers on an account, by forms.


@dataclass(frozen=True, slots=True)
class AccountCommands(Parts):
    """What an approver does to an account, with the form that says how. Each command returns what
    to tell."""

    viewer: User
    form: Form
    session: Session
    users: Users
    accounts: Accounts
    changes: AccountChanges
    page: UserPage

    async def carry_out(self, name: str, word: str) -> Page | Response:
        """Carry out a command and show the outcome on the next page."""
        command, session = COMMANDS.get(word), self.session
        if command is None:
            raise NotFound
        _check_approver(self.viewer)
        if word == "limits" and (errors := self._read_limits().errors):
            return await self.page.show(name, LIMITS.show(self.form.texts(), errors))
        place = HERE if word == "reject" else f"{HERE}/{name}"
        if is_local(self.form.text("next")):
            place = self.form.text("next")
        try:
            session.flash(await command(self, name))
        except REFUSALS as refused:
            session.flash(text_of(refused), "error")
            if shape_of(refused).status == 404:
                place = HERE
        return redirect_to(place)

    async def accept(self, name: str) -> str:
        await self._change(name, UserChange(pending=False))
        return f"{name} is approved and can log in now."

    async def reject(self, name: str) -> str:
        await self.accounts.reject(name, by=self.viewer.name)
        return f"The account {name} is removed."

    async def block(self, name: str) -> str:
        reason = self.form.text("message").strip()[:LONGEST_REASON]
        await self._change(name, UserChange(blocked=True, block_reason=reason))
        self.changes.forget(name)
        return f"{name} is blocked."

    async def unblock(self, name: str) -> str:
        await self._change(name, UserChange(blocked=False))
        self.changes.forget(name)
        return f"{name} is unblocked."

    async def change_limits(self, name: str) -> str:
        """Set the machine limit, the upload quota and whether the user is an approver."""
        user, limits = await self.users.by_name(name), self._read_limits().value
        if user is None or limits is None:
            raise UnknownUser(name)
        mb: int | Literal["default"] = "default" if limits.upload_mb is None else limits.upload_mb
        groups = user.groups | {APPROVERS} if limits.approver else user.groups - {APPROVERS}
        wanted = UserChange(machine_limit=limits.machine_limit, groups=tuple(sorted(groups)))
        await self.accounts.change(name, wanted, upload_mb=mb, by=self.viewer.name)
        return f"The account {name} is saved."

    async def _change(self, name: str, wanted: UserChange) -> None:
        await self.accounts.change(name, wanted, by=self.viewer.name)

    def _read_limits(self) -> ReadForm[Limits]:
        return LIMITS.read(Limits, self.form.texts())


COMMANDS: Mapping[str, Callable[[AccountCommands, str], Awaitable[str]]] = {
    "accept": AccountCommands.accept,
    "reject": AccountCommands.reject,
    "block": AccountCommands.block,
    "unblock": AccountCommands.unblock,
    "limits": AccountCommands.change_limits,
}


@pages("POST /users/{user}/{command}", "awaits one write; a refused form is rendered in a thread")
async def change_account(user: str, command: str, commands: AccountCommands) -> Page | Response:
    return await commands.carry_out(user, command)
