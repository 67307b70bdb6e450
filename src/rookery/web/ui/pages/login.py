"""Logging in and out."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.service.login import LoginRefused, Throttled
from rookery.web.cookie import KEPT, UNKEPT
from rookery.web.kit import Kit, kit_of
from rookery.web.paths import is_local
from rookery.web.scope import facts_of, session_of
from rookery.web.ui.page import go_to, page

HOME = "/"
_LONGEST_NEXT = 500
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class LoginView:
    """The form; what was typed comes back, the password never."""

    csrf: str
    next: str = ""
    name: str = ""
    keep: bool = False
    refusal: str = ""
    sign_up: bool = True


@runs(Domain.THREAD, "the password is checked and the page rendered in threads")
async def login(request: Request) -> Response:
    if request.method == "POST":
        return await _enter(request)
    place = _safe_place(request.query_params.get("next", ""))
    if session_of(request.scope).user:
        return go_to(place or HOME)
    open_to_new = kit_of(request).house.api.sign_up.is_open
    csrf = session_of(request.scope).csrf_token()
    view = LoginView(csrf=csrf, next=place, sign_up=open_to_new)
    return await page(request, "login.html", view)


@runs(Domain.LOOP, "writes one row, so that the session ends in every process")
async def logout(request: Request) -> Response:
    session = session_of(request.scope)
    if session.user:
        lasting = KEPT if session.data.keep else UNKEPT
        await kit_of(request).standing.ended.end(session.data, lasting)
    session.sign_out()
    session.flash("You are logged out.")
    return go_to(HOME)


async def _enter(request: Request) -> Response:
    kit, facts = kit_of(request), facts_of(request.scope)
    form, session = facts.form, session_of(request.scope)
    name, keep = form.text("username").strip()[:_LONGEST_NAME], form.ticked("stay_logged_in")
    place = _safe_place(form.text("next") or request.query_params.get("next", ""))
    try:
        user = await kit.login.check(name, form.text("password"), facts.client)
    except LoginRefused as refusal:
        _write_down(kit, refusal, request)
        open_to_new = kit.house.api.sign_up.is_open
        view = LoginView(session.csrf_token(), place, name, keep, str(refusal), open_to_new)
        return await page(request, "login.html", view, _status(refusal))
    session.sign_in(user.name, kit.standing.mark(user), keep=keep)
    session.flash(f"Welcome, {user.name}.")
    kit.house.log.info("logged_in", user=user.name, client=facts.client)
    return go_to(place or HOME)


def _status(refusal: LoginRefused) -> int:
    return 429 if isinstance(refusal, Throttled) else 401


def _safe_place(path: str) -> str:
    return path if len(path) <= _LONGEST_NEXT and is_local(path) else ""


def _write_down(kit: Kit, refusal: LoginRefused, request: Request) -> None:
    facts = facts_of(request.scope)
    # Not the name: people type their password there.
    kit.house.log.warning(
        "login_refused",
        why=type(refusal).__name__,
        client=facts.client,
        request=facts.request_id,
    )
