"""The pages that links in mails lead to: a new password, confirming an address, unsubscribing."""

import asyncio
from dataclasses import dataclass

from starlette.datastructures import QueryParams
from starlette.responses import Response

from rookery.core.errors import Complaint
from rookery.server.http.endpoint import UNSEEN
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form, RequestInfo
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.links import LinkPurpose
from rookery.server.identity.login import PasswordResets, Throttled
from rookery.server.identity.users import User
from rookery.server.notify.channels import LinkedUsers
from rookery.server.notify.link_mail import LinkMails
from rookery.server.notify.outbox import Channels
from rookery.server.people.account_changes import AccountChanges

LONGEST_TEXT = 300
LONGEST_PASSWORD = 1024
ANSWER_SECONDS = 0.1
"""The least time that an answer takes, which is longer than queueing a mail."""
ASKED = "If this account exists and has a confirmed address, we have mailed it a link."
DIFFERENT = "The passwords do not match."
CHANGED = "Your password is changed. Log in with the new one;"
TOKENS = "/tokens"
TOKENS_STAY = "Your tokens stay valid; log in to check them and revoke any you don't recognise."

pages = Pages()
routes = pages.make_routes

# Asking for a link to a new password. The answer never tells whether the account exists.


@dataclass(frozen=True, slots=True)
class ResetForm(Parts):
    """The form that asks for a link."""

    session: Session
    form: Form
    mails: LinkMails

    @property
    def text(self) -> str:
        return self.form.text("who").strip()[:LONGEST_TEXT]

    def show(self, refusal: str = "") -> Page:
        view = {
            "csrf": self.session.csrf_token(),
            "has_mail": self.mails.server.is_set_up,
            "text": self.text,
            "refusal": refusal,
        }
        return Page("reset.html", view, 429 if refusal else 200)


ASKING = "awaits one query; the page is rendered in a thread"


@pages("GET /login/reset", ASKING)
async def show_reset(shown: ResetForm) -> Page:
    return shown.show()


@pages("POST /login/reset", ASKING)
async def ask_for_reset(
    shown: ResetForm, resets: PasswordResets, info: RequestInfo
) -> Page | Response:
    if not shown.mails.server.is_set_up:
        return shown.show()

    async def post_reset() -> None:
        if user := await resets.find_user(shown.text, info.client):
            await shown.mails.post_reset(user)

    try:
        # The time of an answer must not reveal whether the account exists.
        await asyncio.gather(asyncio.sleep(ANSWER_SECONDS), post_reset())
    except Throttled as refused:
        return shown.show(str(refused))
    shown.session.flash(ASKED)
    return redirect_to("/login")


# Pages that need a link.


@dataclass(frozen=True, slots=True)
class LinkPages(Parts):
    """The pages that a link leads to, which they carry on."""

    users: LinkedUsers
    form: Form
    query: QueryParams
    session: Session

    @property
    def token(self) -> str:
        return self.form.text("token") or self.query.get("token", "")

    async def find_user(self, purpose: LinkPurpose) -> User:
        return await self.users.find(purpose, self.token)

    def show_passwords(self, user: User, error: str = "", error2: str = "") -> Page:
        view = {
            "csrf": self.session.csrf_token(),
            "token": self.token,
            "name": user.name,
            "error": error,
            "error2": error2,
            "revoke_tokens": self.form.ticked("revoke_tokens"),
        }
        status = 400 if error or error2 else 200
        return Page("new_password.html", view, status, headers=UNSEEN)

    def show_button(self, action: str, title: str, text: str, word: str) -> Page:
        """A page with one button, since programs open links in mails."""
        asked = {"action": action, "title": title, "text": text, "word": word}
        csrf = self.session.csrf_token()
        return Page("link.html", {**asked, "csrf": csrf, "token": self.token})


JUDGED = "the password is judged and hashed, the page rendered in threads"


@pages("GET /login/new-password", JUDGED)
async def show_passwords(link: LinkPages) -> Page:
    return link.show_passwords(await link.find_user(LinkPurpose.RESET))


@pages("POST /login/new-password", JUDGED)
async def choose_password(
    link: LinkPages, accounts: Accounts, changes: AccountChanges
) -> Page | Response:
    """Set a new password. The link works once, because its signature covers the replaced
    password."""
    user, form = await link.find_user(LinkPurpose.RESET), link.form
    password = form.text("password")[:LONGEST_PASSWORD]
    if password != form.text("password2"):
        return link.show_passwords(user, error2=DIFFERENT)
    try:
        await accounts.set_password(user.name, password, linked=user, by=user.name)
    except Complaint as refused:
        return link.show_passwords(user, str(refused))
    # All sessions end, because they are bound to the password. Tokens remain valid unless the user
    # chose otherwise; the user is then asked to review them.
    changes.forget(user.name)
    link.session.sign_out()
    if form.ticked("revoke_tokens"):
        await accounts.revoke_all(user.name, by=user.name)
        link.session.flash(f"{CHANGED} all sessions have ended, and all tokens are revoked.")
        return redirect_to("/login")
    link.session.flash(f"{CHANGED} all sessions have ended. {TOKENS_STAY}")
    return redirect_to(f"/login?next={TOKENS}")


# Links to a page with one button.

WRITING = "awaits one write; the page is rendered in a thread"


@pages("GET /confirm", WRITING)
async def ask_to_confirm(link: LinkPages) -> Page:
    user = await link.find_user(LinkPurpose.CONFIRM)
    text = f"{user.email} is the address of the account {user.name}."
    return link.show_button("/confirm", "Confirm your address", text, "Confirm")


@pages("POST /confirm", WRITING)
async def confirm_address(link: LinkPages, accounts: Accounts) -> Response:
    """Confirm a mail address: only its reader has the link."""
    user = await link.find_user(LinkPurpose.CONFIRM)
    await accounts.confirm_email(user.name, user.email)
    link.session.flash("Your e-mail address is confirmed.")
    return redirect_to("/")


@pages("GET /unsubscribe", WRITING)
async def ask_to_unsubscribe(link: LinkPages) -> Page:
    user = await link.find_user(LinkPurpose.UNSUBSCRIBE)
    text = (
        f"This stops notification mail to {user.name}. You can switch it on again in your profile."
    )
    return link.show_button("/unsubscribe", "Unsubscribe", text, "Unsubscribe")


@pages("POST /unsubscribe", WRITING)
async def unsubscribe(link: LinkPages, channels: Channels) -> Response:
    user = await link.find_user(LinkPurpose.UNSUBSCRIBE)
    await channels.silence_mail(user.name)
    link.session.flash("You will get no more notification mail.")
    return redirect_to("/")
