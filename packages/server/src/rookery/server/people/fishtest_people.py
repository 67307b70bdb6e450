"""Accepts fishtest's forms about people and their machines at its addresses and with its field
names: profile, account, worker. The same use cases as for the forms here do the work."""

from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.protocol.people import MeChange
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.http.pages.page import account_of, redirect_to
from rookery.server.http.pages.pages import Pages
from rookery.server.http.scope import Form, request_info_of
from rookery.server.http.session import Session
from rookery.server.machines.machine.page import set_block
from rookery.server.people.list.page import act_on_account
from rookery.server.people.profile.page import (
    DIFFERENT,
    LONGEST_ADDRESS,
    LONGEST_PASSWORD,
    apply_change,
)
from rookery.server.people.users import User

pages = Pages("/machines/{worker}")
ENGINE = "Stockfish"
"""The engine that `tests_repo` belongs to."""
DONE = "Your profile is saved."


@runs(Domain.THREAD, "passwords are checked, judged and hashed in threads")
async def change_profile(request: Request) -> Response:
    """Change a profile. The form posts all fields; empty and unchanged ones are ignored."""
    user, form = await account_of(request), request_info_of(request.scope).form
    if user is None:
        return redirect_to("/login?next=/profile")
    new = form.text("password")[:LONGEST_PASSWORD]
    errors = {"password2": DIFFERENT} if new != form.text("password2") else {}
    wanted = MeChange(
        current_password=form.text("old_password")[:LONGEST_PASSWORD],
        password=new or UNSET,
        email=_read_new(form, "email", user.email),
        repositories=_read_repository(form, user),
    )
    return await apply_change(request, wanted, "password" if new else "email", errors, DONE)


def _read_new(form: Form, name: str, before: str) -> str | UnsetType:
    text = form.text(name).strip()[:LONGEST_ADDRESS]
    return UNSET if text in ("", before) else text


def _read_repository(form: Form, user: User) -> dict[str, str | None] | UnsetType:
    given = _read_new(form, "tests_repo", user.repositories.get(ENGINE, ""))
    return UNSET if given is UNSET else {ENGINE: given}


@runs(Domain.THREAD, "awaits one write; a refused form is rendered in a thread")
async def change_user(request: Request) -> Response:
    """Change an account: an approver accepts or rejects one that waits (`pending`), or blocks or
    unblocks one (`blocked`)."""
    form = request_info_of(request.scope).form
    if form.text("pending"):
        return await act_on_account(request, "accept" if form.text("pending") == "0" else "reject")
    return await act_on_account(request, "block" if form.text("blocked") == "1" else "unblock")


@pages(
    "POST /workers/{worker}",
    "changes memory and awaits the commit",
    where=Domain.LOOP,
    needs_primary=True,
)
async def change_worker(
    worker: str, viewer: Actor, fleet: Fleet, form: Form, session: Session
) -> Response:
    """Block or unblock a worker. A posted checkbox is ticked and blocks it, with a message."""
    posted = any(name == "blocked" for name, _ in form.fields)
    message = form.text("message").strip() if posted else None
    return await set_block(worker, message, viewer, fleet, session)


def routes() -> list[BaseRoute]:
    return [
        Route("/user", change_profile, methods=["POST"]),
        Route("/user/{user}", change_user, methods=["POST"]),
        *pages.make_routes(),
    ]
