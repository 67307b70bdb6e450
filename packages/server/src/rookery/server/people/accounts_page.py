"""Logging in, logging out and signing up."""

from dataclasses import dataclass

from starlette.datastructures import QueryParams
from starlette.responses import Response

from rookery.core.errors import Complaint
from rookery.core.protocol.people import Application
from rookery.server.boundary.domains import Domain
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form, RequestInfo, is_local
from rookery.server.http.session import KEPT, UNKEPT, Session, SessionCheck
from rookery.server.http.signatures import Parts
from rookery.server.identity.login import Login, LoginRefused, Throttled
from rookery.server.identity.sign_up import SignUp
from rookery.server.logs import Log
from rookery.server.notify.link_mail import LinkMails

HOME = "/"
_LONGEST_NEXT = 500
_LONGEST_NAME = 100


pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class LoginForm(Parts):
    """The form of the login."""

    session: Session
    sign_up: SignUp

    def show(
        self,
        place: str,
        name: str = "",
        refusal: LoginRefused | None = None,
        *,
        keep: bool = False,
    ) -> Page:
        """After a refusal the form shows the name again, but never the password."""
        view = {
            "csrf": self.session.csrf_token(),
            "next": place,
            "name": name,
            "keep": keep,
            "refusal": refusal,
            "sign_up": self.sign_up.is_open,
        }
        status = 200 if refusal is None else 429 if isinstance(refusal, Throttled) else 401
        return Page("login.html", view, status)


CHECKED = "the password is checked and the page rendered in threads"


@pages("GET /login", CHECKED)
async def show_login(shown: LoginForm, query: QueryParams) -> Page | Response:
    place = _safe_place(query.get("next", ""))
    return redirect_to(place or HOME) if shown.session.user else shown.show(place)


@pages("POST /login", CHECKED)
async def enter(
    shown: LoginForm,
    login: Login,
    sessions: SessionCheck,
    info: RequestInfo,
    query: QueryParams,
    log: Log,
) -> Page | Response:
    form = info.form
    name, keep = form.text("username").strip()[:_LONGEST_NAME], form.ticked("stay_logged_in")
    place = _safe_place(form.text("next") or query.get("next", ""))
    try:
        user = await login.check(name, form.text("password"), info.client)
    except LoginRefused as refusal:
        # The name is not logged, because people type their password into that field by mistake.
        why = type(refusal).__name__
        log.warning("login_refused", why=why, client=info.client, request=info.request_id)
        return shown.show(place, name, refusal, keep=keep)
    shown.session.sign_in(user.name, sessions.mark(user), keep=keep)
    shown.session.flash(f"Welcome, {user.name}.")
    log.info("logged_in", user=user.name, client=info.client)
    return redirect_to(place or HOME)


def _safe_place(path: str) -> str:
    return path if len(path) <= _LONGEST_NEXT and is_local(path) else ""


@pages(
    "POST /logout", "writes one row, so that the session ends in every process", where=Domain.LOOP
)
async def logout(session: Session, sessions: SessionCheck) -> Response:
    if session.user:
        lasting = KEPT if session.data.keep else UNKEPT
        await sessions.ended.end(session.data, lasting)
    session.sign_out()
    session.flash("You are logged out.")
    return redirect_to(HOME)


# Signing up: a form that makes an account, which then waits for approval.

LOGIN = "/login"
DONE = "Thank you. You can log in once an approver has approved your account."
DIFFERENT = "The passwords do not match."
_LONGEST = 300
NOBODY = Application(name="", password="", email="")


JUDGED = "the password is judged and hashed, the page rendered in threads"


@dataclass(frozen=True, slots=True)
class SignUpForm(Parts):
    """The form of a new account."""

    session: Session
    sign_up: SignUp

    def find_closed(self) -> Response | None:
        """Where to go instead for those who have an account. Raises NotFound if nobody may sign
        up."""
        if not self.sign_up.is_open:
            raise NotFound("The people who run this site create the accounts; ask them for one.")
        return redirect_to(HOME) if self.session.user else None

    def show(self, typed: Application = NOBODY, refusal: Exception | None = None) -> Page:
        """After a refusal the form shows what was typed again, but never the passwords."""
        csrf = self.session.csrf_token()
        view = {"csrf": csrf, "name": typed.name, "email": typed.email, "refusal": refusal}
        status = 200 if refusal is None else 429 if isinstance(refusal, Throttled) else 400
        return Page("sign_up.html", view, status)


@pages("GET /signup", JUDGED)
async def show_sign_up(shown: SignUpForm) -> Page | Response:
    return shown.find_closed() or shown.show()


@pages("POST /signup", JUDGED)
async def apply(
    shown: SignUpForm, info: RequestInfo, mails: LinkMails, log: Log
) -> Page | Response:
    if elsewhere := shown.find_closed():
        return elsewhere
    applicant = _applicant(info.form)
    try:
        if info.form.text("password2") != applicant.password:
            raise Complaint(DIFFERENT)
        user = await shown.sign_up.apply(applicant, info.client)
    except (Complaint, Throttled) as refused:
        return shown.show(applicant, refused)
    await mails.post_confirmation(user)
    log.info("signed_up", user=user.name, client=info.client)
    shown.session.flash(DONE)
    return redirect_to(LOGIN)


def _applicant(form: Form) -> Application:
    name, email = form.text("username").strip(), form.text("email").strip()
    return Application(name=name[:_LONGEST], password=form.text("password"), email=email[:_LONGEST])
