"""Accepts fishtest's forms about people and their machines at its addresses and with its field
names: profile, account, worker. The same use cases as for the forms here do the work."""

from msgspec import UNSET, UnsetType
from starlette.responses import Response

from rookery.core.model.actor import Actor
from rookery.core.protocol.people import MeChange
from rookery.server.boundary.domains import Domain
from rookery.server.farm.fleet import Fleet
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.identity.users import User
from rookery.server.machines.machine.page import set_block
from rookery.server.people.list.page import AccountCommands
from rookery.server.people.profile.page import (
    DIFFERENT,
    LONGEST_ADDRESS,
    LONGEST_PASSWORD,
    ProfilePage,
)

ENGINE = "Stockfish"
"""The engine that `tests_repo` belongs to."""
DONE = "Your profile is saved."

pages = Pages()
routes = pages.make_routes


@pages("POST /user", "passwords are checked, judged and hashed in threads", back="/profile")
async def change_profile(profile: ProfilePage, form: Form) -> Page | Response:
    """Change a profile. The form posts all fields; empty and unchanged ones are ignored."""
    user = profile.user
    new = form.text("password")[:LONGEST_PASSWORD]
    errors = {"password2": DIFFERENT} if new != form.text("password2") else {}
    wanted = MeChange(
        current_password=form.text("old_password")[:LONGEST_PASSWORD],
        password=new or UNSET,
        email=_read_new(form, "email", user.email),
        repositories=_read_repository(form, user),
    )
    return await profile.change(wanted, "password" if new else "email", errors, DONE)


def _read_new(form: Form, name: str, before: str) -> str | UnsetType:
    text = form.text(name).strip()[:LONGEST_ADDRESS]
    return UNSET if text in ("", before) else text


def _read_repository(form: Form, user: User) -> dict[str, str | None] | UnsetType:
    given = _read_new(form, "tests_repo", user.repositories.get(ENGINE, ""))
    return UNSET if given is UNSET else {ENGINE: given}


@pages(
    "POST /user/{user}",
    "awaits one write; a refused form is rendered in a thread",
    back="/users",
)
async def change_user(user: str, form: Form, commands: AccountCommands) -> Page | Response:
    """Change an account: an approver accepts or rejects one that waits (`pending`), or blocks or
    unblocks one (`blocked`)."""
    if form.text("pending"):
        return await commands.carry_out(user, "accept" if form.text("pending") == "0" else "reject")
    return await commands.carry_out(user, "block" if form.text("blocked") == "1" else "unblock")


@pages(
    "POST /workers/{worker}",
    "changes memory and awaits the commit",
    where=Domain.LOOP,
    needs_primary=True,
    back="/machines/{worker}",
)
async def change_worker(
    worker: str, viewer: Actor, fleet: Fleet, form: Form, session: Session
) -> Response:
    """Block or unblock a worker. A posted checkbox is ticked and blocks it, with a message."""
    posted = any(name == "blocked" for name, _ in form.fields)
    message = form.text("message").strip() if posted else None
    return await set_block(worker, message, viewer, fleet, session)
