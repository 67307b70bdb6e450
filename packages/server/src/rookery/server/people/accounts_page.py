"""Logging in, logging out and signing up."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.errors import Complaint
from rookery.core.protocol.people import Application
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import site_of
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.page import redirect_to, render_page
from rookery.server.http.scope import Form, is_local, request_info_of, session_of
from rookery.server.http.session import KEPT, UNKEPT
from rookery.server.people.login import LoginRefused, Throttled

HOME = "/"
_LONGEST_NEXT = 500
_LONGEST_NAME = 100


@runs(Domain.THREAD, "the password is checked and the page rendered in threads")
async def login(request: Request) -> Response:
    if request.method == "POST":
        return await _enter(request)
    place = _safe_place(request.query_params.get("next", ""))
    if session_of(request.scope).user:
        return redirect_to(place or HOME)
    return await _show_login(request, place)


@runs(Domain.LOOP, "writes one row, so that the session ends in every process")
async def logout(request: Request) -> Response:
    session = session_of(request.scope)
    if session.user:
        lasting = KEPT if session.data.keep else UNKEPT
        await site_of(request).sessions.ended.end(session.data, lasting)
    session.sign_out()
    session.flash("You are logged out.")
    return redirect_to(HOME)


async def _enter(request: Request) -> Response:
    site, info = site_of(request), request_info_of(request.scope)
    form, session = info.form, session_of(request.scope)
    name, keep = form.text("username").strip()[:_LONGEST_NAME], form.ticked("stay_logged_in")
    place = _safe_place(form.text("next") or request.query_params.get("next", ""))
    try:
        user = await site.login.check(name, form.text("password"), info.client)
    except LoginRefused as refusal:
        _write_down(site, refusal, request)
        return await _show_login(request, place, name, refusal, keep=keep)
    session.sign_in(user.name, site.sessions.mark(user), keep=keep)
    session.flash(f"Welcome, {user.name}.")
    site.log.info("logged_in", user=user.name, client=info.client)
    return redirect_to(place or HOME)


async def _show_login(
    request: Request,
    place: str,
    name: str = "",
    refusal: LoginRefused | None = None,
    *,
    keep: bool = False,
) -> Response:
    """The login form. After a refusal it shows the name again, but never the password."""
    view = {
        "csrf": session_of(request.scope).csrf_token(),
        "next": place,
        "name": name,
        "keep": keep,
        "refusal": refusal,
        "sign_up": site_of(request).sign_up.is_open,
    }
    status = 200 if refusal is None else 429 if isinstance(refusal, Throttled) else 401
    return await render_page(request, "login.html", view, status)


def _safe_place(path: str) -> str:
    return path if len(path) <= _LONGEST_NEXT and is_local(path) else ""


def _write_down(site: Site, refusal: LoginRefused, request: Request) -> None:
    info = request_info_of(request.scope)
    # The name is not logged, because people type their password into that field by mistake.
    site.log.warning(
        "login_refused",
        why=type(refusal).__name__,
        client=info.client,
        request=info.request_id,
    )


# Signing up: a form that makes an account, which then waits for approval.

LOGIN = "/login"
DONE = "Thank you. You can log in once an approver has approved your account."
DIFFERENT = "The passwords do not match."
_LONGEST = 300
NOBODY = Application(name="", password="", email="")


@runs(Domain.THREAD, "the password is judged and hashed, the page rendered in threads")
async def sign_up(request: Request) -> Response:
    session = session_of(request.scope)
    if not site_of(request).sign_up.is_open:
        raise NotFound("The people who run this site create the accounts; ask them for one.")
    if session.user:
        return redirect_to("/")
    if request.method == "POST":
        return await _apply(request)
    return await _show_sign_up(request)


async def _apply(request: Request) -> Response:
    site, info, session = (
        site_of(request),
        request_info_of(request.scope),
        session_of(request.scope),
    )
    applicant = _applicant(info.form)
    try:
        if info.form.text("password2") != applicant.password:
            raise Complaint(DIFFERENT)
        user = await site.sign_up.apply(applicant, info.client)
    except (Complaint, Throttled) as refused:
        return await _show_sign_up(request, applicant, refused)
    await site.link_mails.post_confirmation(user)
    site.log.info("signed_up", user=user.name, client=info.client)
    session.flash(DONE)
    return redirect_to(LOGIN)


async def _show_sign_up(
    request: Request, typed: Application = NOBODY, refusal: Exception | None = None
) -> Response:
    """The sign-up form. After a refusal it shows what was typed again, but never the passwords."""
    csrf = session_of(request.scope).csrf_token()
    view = {"csrf": csrf, "name": typed.name, "email": typed.email, "refusal": refusal}
    status = 200 if refusal is None else 429 if isinstance(refusal, Throttled) else 400
    return await render_page(request, "sign_up.html", view, status)


def _applicant(form: Form) -> Application:
    name, email = form.text("username").strip(), form.text("email").strip()
    return Application(name=name[:_LONGEST], password=form.text("password"), email=email[:_LONGEST])
