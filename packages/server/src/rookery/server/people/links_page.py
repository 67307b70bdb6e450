"""The pages that links in mails lead to: a new password, confirming an address, unsubscribing."""

import asyncio
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.errors import Complaint
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import site_of
from rookery.server.http.pages.page import redirect_to, render_page
from rookery.server.http.scope import request_info_of, session_of
from rookery.server.notify.channels import find_linked_user
from rookery.server.people.links import LinkPurpose
from rookery.server.people.login import Throttled
from rookery.server.people.users import User

RESET, NEW_PASSWORD = "/login/reset", "/login/new-password"
CONFIRM, UNSUBSCRIBE = "/confirm", "/unsubscribe"
LONGEST_TEXT = 300
LONGEST_PASSWORD = 1024
ANSWER_SECONDS = 0.1
"""The least time that an answer takes, which is longer than queueing a mail."""
ASKED = "If this account exists and has a confirmed address, we have mailed it a link."
DIFFERENT = "The passwords do not match."
CHANGED = "Your password is changed. Log in with the new one;"
TOKENS = "/tokens"
TOKENS_STAY = "Your tokens stay valid; log in to check them and revoke any you don't recognise."


# Asking for a link to a new password. The answer never tells whether the account exists.


@runs(Domain.THREAD, "awaits one query; the page is rendered in a thread")
async def ask_for_reset(request: Request) -> Response:
    site, session = site_of(request), session_of(request.scope)
    info, has_mail = request_info_of(request.scope), site.link_mails.server.is_set_up
    text = info.form.text("who").strip()[:LONGEST_TEXT]
    refusal = ""
    if request.method == "POST" and has_mail:
        try:
            # The time of an answer must not reveal whether the account exists.
            pause = asyncio.sleep(ANSWER_SECONDS)
            await asyncio.gather(pause, _post_reset(site, text, info.client))
            session.flash(ASKED)
            return redirect_to("/login")
        except Throttled as refused:
            refusal = str(refused)
    view = {
        "csrf": session.csrf_token(),
        "has_mail": has_mail,
        "text": text,
        "refusal": refusal,
    }
    return await render_page(request, "reset.html", view, 429 if refusal else 200)


async def _post_reset(site: Site, text: str, client: str) -> None:
    if user := await site.resets.find_user(text, client):
        await site.link_mails.post_reset(user)


@runs(Domain.THREAD, "the password is judged and hashed, the page rendered in threads")
async def choose_password(request: Request) -> Response:
    """Set a new password. The link works once, because its signature covers the replaced
    password."""
    site, session = site_of(request), session_of(request.scope)
    form = request_info_of(request.scope).form
    token = form.text("token") or request.query_params.get("token", "")
    user = await find_linked_user(site_of(request), LinkPurpose.RESET, token)
    password, error, error2 = form.text("password")[:LONGEST_PASSWORD], "", ""
    if request.method == "POST":
        if password != form.text("password2"):
            error2 = DIFFERENT
        else:
            try:
                await site.accounts.set_password(user.name, password, linked=user, by=user.name)
            except Complaint as refused:
                error = str(refused)
            else:
                return await _end_all_sessions(request, user)
    view = {
        "csrf": session.csrf_token(),
        "token": token,
        "name": user.name,
        "error": error,
        "error2": error2,
        "revoke_tokens": form.ticked("revoke_tokens"),
    }
    answer = await render_page(request, "new_password.html", view, 400 if error or error2 else 200)
    answer.headers["cache-control"] = "no-store"
    return answer


async def _end_all_sessions(request: Request, user: User) -> Response:
    """End all sessions. They are bound to the password, so that this process only has to forget the
    user. Tokens remain valid unless the user chose otherwise; the user is then asked to review
    them."""
    site, session = site_of(request), session_of(request.scope)
    site.sessions.forget(user.name)
    site.credentials.forget(user.name)
    session.sign_out()
    if request_info_of(request.scope).form.ticked("revoke_tokens"):
        await site.accounts.revoke_all(user.name, by=user.name)
        session.flash(f"{CHANGED} all sessions have ended, and all tokens are revoked.")
        return redirect_to("/login")
    session.flash(f"{CHANGED} all sessions have ended. {TOKENS_STAY}")
    return redirect_to(f"/login?next={TOKENS}")


# Links to a page with one button.


@runs(Domain.THREAD, "awaits one write; the page is rendered in a thread")
async def confirm_address(request: Request) -> Response:
    """Confirm a mail address: only its reader has the link."""
    token, user = await _read_link(request, LinkPurpose.CONFIRM)
    if request.method == "POST":
        await site_of(request).accounts.confirm_email(user.name, user.email)
        session_of(request.scope).flash("Your e-mail address is confirmed.")
        return redirect_to("/")
    text = f"{user.email} is the address of the account {user.name}."
    asked = {"action": CONFIRM, "title": "Confirm your address", "text": text, "word": "Confirm"}
    return await _ask(request, token, asked)


@runs(Domain.THREAD, "awaits one write; the page is rendered in a thread")
async def unsubscribe(request: Request) -> Response:
    token, user = await _read_link(request, LinkPurpose.UNSUBSCRIBE)
    if request.method == "POST":
        await site_of(request).channels.silence_mail(user.name)
        session_of(request.scope).flash("You will get no more notification mail.")
        return redirect_to("/")
    text = (
        f"This stops notification mail to {user.name}. You can switch it on again in your profile."
    )
    asked = {"action": UNSUBSCRIBE, "title": "Unsubscribe", "text": text, "word": "Unsubscribe"}
    return await _ask(request, token, asked)


async def _read_link(request: Request, purpose: LinkPurpose) -> tuple[str, User]:
    form = request_info_of(request.scope).form
    token = form.text("token") or request.query_params.get("token", "")
    return token, await find_linked_user(site_of(request), purpose, token)


async def _ask(request: Request, token: str, asked: Mapping[str, str]) -> Response:
    """A page with one button, since programs open links in mails."""
    csrf = session_of(request.scope).csrf_token()
    return await render_page(request, "link.html", {**asked, "csrf": csrf, "token": token})


def routes() -> list[BaseRoute]:
    return [
        Route(RESET, ask_for_reset, methods=["GET", "POST"]),
        Route(NEW_PASSWORD, choose_password, methods=["GET", "POST"]),
        Route(CONFIRM, confirm_address, methods=["GET", "POST"]),
        Route(UNSUBSCRIBE, unsubscribe, methods=["GET", "POST"]),
    ]
