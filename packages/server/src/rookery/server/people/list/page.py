"""User accounts: the list for approvers, and a page of each user for everybody."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.errors import Complaint
from rookery.core.model.task import Task
from rookery.core.protocol.people import UserChange
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.run_paces import NO_PACES, PaceReader
from rookery.server.farm.statistics_rows import Contributor, Period
from rookery.server.http.answers import address_of, site_of
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
from rookery.server.http.pages.page import account_of, redirect_to, render_page
from rookery.server.http.scope import Form, is_local, request_info_of, session_of
from rookery.server.people.links import LinkPurpose
from rookery.server.people.users import (
    APPROVERS,
    UnknownUser,
    User,
    UserKind,
    UserQuery,
    is_approver,
)

HERE = "/users"
PAGE_ROWS = 50
LONGEST_TEXT = 100
LONGEST_REASON = 500
MOST_MACHINES = 1_000_000
MOST_MB = 10**9 - 1
MOST_SHOWN = 10
NOTHING_GIVEN = Contributor("", 0, 0.0, 0, None)
ONLY_APPROVERS = "Only an approver may do this."


# The list, for approvers.


@runs(Domain.THREAD, "awaits two queries; the page is rendered in a thread")
async def list_accounts(request: Request) -> Response:
    viewer, site, query = await account_of(request), site_of(request), request.query_params
    if viewer is None:
        return redirect_to(f"/login?next={HERE}")
    if not is_approver(viewer):
        raise Forbidden(ONLY_APPROVERS)
    state, text = query.get("state", ""), read_search(query)
    kind = UserKind(state) if state in set(UserKind) else UserKind.ALL
    page = read_page(query)
    first = (page - 1) * PAGE_ROWS
    users = await site.users.page(UserQuery(text, kind, True, first, PAGE_ROWS + 1))
    address = ListAddress(HERE, {"state": "" if kind is UserKind.ALL else kind.value, "text": text})
    shown = {
        "users": users[:PAGE_ROWS],
        "approvers": [user.name for user in users if is_approver(user)],
        "given": await site.statistics.of_users([user.name for user in users]),
        "nothing": NOTHING_GIVEN,
        "address": address,
        "pager": make_open_pager(address, page, more=len(users) > PAGE_ROWS),
        "kind": kind.value,
        "here": address.change(page=page),
        "now": site.clock.now(),
    }
    return await render_page(request, "users.html", shown)


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


@runs(Domain.THREAD, "awaits three queries; the page is rendered in a thread")
async def show_user(request: Request) -> Response:
    return await _show_user(request, None)


async def _show_user(request: Request, typed: ShownForm | None) -> Response:
    """The page of a user, with the form as it was typed if it was refused."""
    site, viewer = site_of(request), await account_of(request)
    user, now = await _find_user(request, viewer), site.clock.now()
    name = None if viewer is None else viewer.name
    actor = None if viewer is None else Actor(viewer.name, approver=is_approver(viewer))
    finished = await site.reads.finished(
        FinishedRunsQuery(
            page_size=MOST_SHOWN + 1, owner=user.name, hidden=site.privacy.hidden(name)
        )
    )
    active = await site.fleet.views.active()
    own = [r for r in active if r.plan.owner == user.name and site.privacy.may_see(name, r)]
    tasks = [t for t in await site.visible_runs.tasks_at_play(name) if t.machine.user == user.name]
    given = (await site.statistics.of_users([user.name]))[user.name]
    reset_link = session_of(request.scope).take_secret(_name_secret(user.name), now)
    by_approver = actor is not None and actor.approver
    newest = sorted(own, key=lambda run: run.created, reverse=True)[:MOST_SHOWN]
    view = {
        "now": now,
        "user": user,
        "approver": is_approver(user),
        "is_own": name == user.name,
        # What approvers and the user see of the account.
        "account": user if by_approver or name == user.name else None,
        "may_change": by_approver and name != user.name,
        "may_reset": by_approver and not (is_approver(user) or user.pending or user.blocked),
        "reset_link": reset_link,
        "all_time": given.get(Period.ALL, NOTHING_GIVEN),
        "month": given.get(Period.MONTH, NOTHING_GIVEN),
        "last": find_last(given, tasks),
        "tasks": tasks,
        "open_runs": [site.privacy.visible_part(actor, run) for run in newest],
        "paces": await PaceReader(site.reads, site.fleet).load(own, now),
        "finished": [site.privacy.visible_part(actor, run) for run in finished[:MOST_SHOWN]],
        "no_paces": NO_PACES,
        "has_more_runs": max(len(own), len(finished)) > MOST_SHOWN,
        "limits": typed or _show_limits(user),
    }
    answer = await render_page(request, "user.html", view, 400 if typed else 200)
    if reset_link:
        answer.headers["cache-control"] = "no-store"
    return answer


async def _find_user(request: Request, viewer: User | None) -> User:
    """The user. Raises NotFound, also for a pending account that the viewer may not see."""
    name = str(request.path_params["user"])
    user = await site_of(request).users.by_name(name)
    told = viewer is not None and (is_approver(viewer) or viewer.name == name)
    if user is None or (user.pending and not told):
        raise NotFound(str(UnknownUser(name[:LONGEST_TEXT])))
    return user


def find_last(given: Mapping[Period, Contributor], tasks: Iterable[Task]) -> datetime | None:
    """The last result. Contributions are counted only at the end of a run, so the tasks at play are
    asked too."""
    counted = (each.last for each in given.values() if each.last)
    return max((*counted, *(task.reported for task in tasks)), default=None)


# Commands of approvers on an account, by forms.

Command = Callable[[Site, str, str, Form], Awaitable[str]]


@runs(Domain.THREAD, "awaits one write; a refused form is rendered in a thread")
async def change_account(request: Request) -> Response:
    return await act_on_account(request, str(request.path_params["command"]))


async def act_on_account(request: Request, word: str) -> Response:
    """Carry out a command and show the outcome on the next page."""
    session, name = session_of(request.scope), str(request.path_params["user"])
    command, viewer = COMMANDS.get(word), await account_of(request)
    if command is None:
        raise NotFound
    if viewer is None:
        return redirect_to(f"/login?next={HERE}")
    if not is_approver(viewer):
        raise Forbidden(ONLY_APPROVERS)
    form = request_info_of(request.scope).form
    if command is _change_limits and (errors := _read_limits(form).errors):
        return await _show_user(request, LIMITS.show(form.texts(), errors))
    place = HERE if command is _reject else f"{HERE}/{name}"
    if is_local(form.text("next")):
        place = form.text("next")
    try:
        session.flash(await command(site_of(request), name, viewer.name, form))
    except REFUSALS as refused:
        session.flash(text_of(refused), "error")
        if shape_of(refused).status == 404:
            place = HERE
    return redirect_to(place)


async def _accept(site: Site, name: str, by: str, _form: Form) -> str:
    await site.accounts.change(name, UserChange(pending=False), by=by)
    return f"{name} is approved and can log in now."


async def _reject(site: Site, name: str, by: str, _form: Form) -> str:
    await site.accounts.reject(name, by=by)
    return f"The account {name} is removed."


async def _block(site: Site, name: str, by: str, form: Form) -> str:
    reason = form.text("message").strip()[:LONGEST_REASON]
    await site.accounts.change(name, UserChange(blocked=True, block_reason=reason), by=by)
    # Have effect here at once, without waiting for the announcement.
    site.sessions.forget(name)
    site.bearers.forget_all()
    site.credentials.forget(name)
    return f"{name} is blocked."


async def _unblock(site: Site, name: str, by: str, _form: Form) -> str:
    await site.accounts.change(name, UserChange(blocked=False), by=by)
    site.credentials.forget(name)
    return f"{name} is unblocked."


def _read_limits(form: Form) -> ReadForm[Limits]:
    return LIMITS.read(Limits, form.texts())


async def _change_limits(site: Site, name: str, by: str, form: Form) -> str:
    """Set the machine limit, the upload quota and whether the user is an approver."""
    user, limits = await site.users.by_name(name), _read_limits(form).value
    if user is None or limits is None:
        raise UnknownUser(name)
    mb: int | Literal["default"] = "default" if limits.upload_mb is None else limits.upload_mb
    groups = user.groups | {APPROVERS} if limits.approver else user.groups - {APPROVERS}
    wanted = UserChange(machine_limit=limits.machine_limit, groups=tuple(sorted(groups)))
    await site.accounts.change(name, wanted, upload_mb=mb, by=by)
    return f"The account {name} is saved."


COMMANDS: Mapping[str, Command] = {
    "accept": _accept,
    "reject": _reject,
    "block": _block,
    "unblock": _unblock,
    "limits": _change_limits,
}


@runs(Domain.LOOP, "awaits one write")
async def make_reset_link(request: Request) -> Response:
    """Make a link to a new password, for a user who gets no mail from here. The next page shows it
    once."""
    session, viewer = session_of(request.scope), await account_of(request)
    site, name = site_of(request), str(request.path_params["user"])
    if viewer is None:
        return redirect_to(f"/login?next={HERE}")
    if not is_approver(viewer):
        raise Forbidden(ONLY_APPROVERS)
    try:
        user = await site.accounts.allow_reset(name, by=viewer.name)
    except Complaint as refused:
        session.flash(str(refused), "error")
    else:
        token = site.links.make(LinkPurpose.RESET, user)
        link = f"{address_of(request)}/login/new-password?token={token}"
        session.keep_secret(_name_secret(name), link, site.clock.now())
    return redirect_to(f"{HERE}/{name}")


def _name_secret(user: str) -> str:
    return f"reset {user}"


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, list_accounts, methods=["GET"]),
        Route(f"{HERE}/{{user}}", show_user, methods=["GET"]),
        Route(f"{HERE}/{{user}}/reset", make_reset_link, methods=["POST"]),
        Route(f"{HERE}/{{user}}/{{command}}", change_account, methods=["POST"]),
    ]
