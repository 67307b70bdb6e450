"""Signing up: a form, and an account that waits for approval."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.core.complaint import Complaint
from rookery.service.login import Throttled
from rookery.service.sign_up import Applicant
from rookery.web.faults import NotFound
from rookery.web.forms import Form
from rookery.web.kit import kit_of
from rookery.web.scope import facts_of, session_of
from rookery.web.ui.page import go_to, page

LOGIN = "/login"
DONE = "Thank you. You can log in as soon as somebody has approved your account."
DIFFERENT = "The two passwords differ."
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class SignUpView:
    """The form; what was typed comes back, the passwords never."""

    csrf: str
    name: str = ""
    email: str = ""
    refusal: str = ""


@runs(Domain.THREAD, "the password is judged and hashed, the page rendered in threads")
async def sign_up(request: Request) -> Response:
    session = session_of(request.scope)
    if not kit_of(request).house.api.sign_up.is_open:
        raise NotFound("Accounts are made by the people who run this site; ask them for one.")
    if session.user:
        return go_to("/")
    if request.method == "POST":
        return await _apply(request)
    return await page(request, "sign_up.html", SignUpView(session.csrf_token()))


async def _apply(request: Request) -> Response:
    kit, facts, session = kit_of(request), facts_of(request.scope), session_of(request.scope)
    applicant = _applicant(facts.form)
    try:
        if facts.form.text("password2") != applicant.password:
            raise Complaint(DIFFERENT)
        user = await kit.house.api.sign_up.apply(applicant, facts.client)
    except (Complaint, Throttled) as refused:
        view = SignUpView(session.csrf_token(), applicant.name, applicant.email, str(refused))
        status = 429 if isinstance(refused, Throttled) else 400
        return await page(request, "sign_up.html", view, status)
    kit.house.log.info("signed_up", user=user.name, client=facts.client)
    session.flash(DONE)
    return go_to(LOGIN)


def _applicant(form: Form) -> Applicant:
    name, email = form.text("username").strip(), form.text("email").strip()
    return Applicant(name[:_LONGEST], form.text("password"), email[:_LONGEST])
