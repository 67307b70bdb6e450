"""The user's own account: password, mail address, and a repository for each engine."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.errors import Complaint, make_sentence
from rookery.core.protocol.codec import BadField, WireFault
from rookery.core.protocol.people import MeChange
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import site_of
from rookery.server.http.pages.page import account_of, redirect_to, render_page
from rookery.server.http.scope import Form, request_info_of, session_of
from rookery.server.people.login import Throttled
from rookery.server.people.me_api import change_account
from rookery.server.people.users import NotPermitted, User, is_approver

HERE = "/profile"
LOGIN = f"/login?next={HERE}"
DIFFERENT = "The passwords do not match."
LONGEST_PASSWORD = 1024
LONGEST_ADDRESS = 300

Errors = Mapping[str, str]
"""Error messages by the name of their field."""


@runs(Domain.THREAD, "awaits one query; the page is rendered in a thread")
async def show_profile(request: Request) -> Response:
    user = await account_of(request)
    return redirect_to(LOGIN) if user is None else await _show(request, user)


@runs(Domain.THREAD, "passwords are checked, judged and hashed in threads")
async def change_password(request: Request) -> Response:
    form = request_info_of(request.scope).form
    new = form.text("password")[:LONGEST_PASSWORD]
    errors: Errors = {"password2": DIFFERENT} if new != form.text("password2") else {}
    wanted = MeChange(current_password=_present(form, "password"), password=new)
    return await apply_change(request, wanted, "password", errors, "Your password is changed.")


@runs(Domain.THREAD, "the present password is checked in a thread")
async def change_email(request: Request) -> Response:
    form = request_info_of(request.scope).form
    email = form.text("email").strip()[:LONGEST_ADDRESS]
    wanted = MeChange(current_password=_present(form, "email"), email=email)
    return await apply_change(request, wanted, "email", {}, "Your e-mail address is changed.")


@runs(Domain.THREAD, "awaits one write; a refused form is rendered in a thread")
async def change_repositories(request: Request) -> Response:
    """Set a repository for each engine. An empty field removes it."""
    form = request_info_of(request.scope).form
    given: dict[str, str | None] = {
        name.removeprefix("repositories."): value.strip()[:LONGEST_ADDRESS] or None
        for name, value in form.fields
        if name.startswith("repositories.")
    }
    wanted = MeChange(repositories=given)
    return await apply_change(request, wanted, "repositories", {}, "Your repositories are saved.")


async def apply_change(
    request: Request, wanted: MeChange, part: str, errors: Errors, done: str
) -> Response:
    """Change the account, or show the form again with its errors."""
    user = await account_of(request)
    if user is None:
        return redirect_to(LOGIN)
    status = 400
    try:
        if not errors:
            changed = await change_account(
                site_of(request),
                session_of(request.scope),
                request_info_of(request.scope),
                user.name,
                wanted,
            )
            if changed.email != user.email:
                await site_of(request).link_mails.post_confirmation(changed)
    except Throttled as refused:
        errors, status = {_password_of(part): str(refused)}, 429
    except NotPermitted as refused:
        errors = {_password_of(part): str(refused)}
    except BadField as refused:
        errors = {str(refused.fields["field"]): make_sentence(refused.fields["text"])}
    except (Complaint, WireFault) as refused:
        errors = {part: str(refused)}
    if errors:
        return await _show(request, user, errors, status)
    session_of(request.scope).flash(done)
    return redirect_to(f"{HERE}#{part}")


async def _show(
    request: Request, user: User, errors: Errors | None = None, status: int = 200
) -> Response:
    site, form = site_of(request), request_info_of(request.scope).form
    typed = {name: value for name, value in form.fields if "password" not in name}
    known, hidden = site.privacy.catalogue(user.name).engines, site.privacy.hidden(user.name)
    with_source = (name for name, record in known.items() if record.source)
    view = {
        "user": user,
        "approver": is_approver(user),
        "teams": sorted(site.teams.of(user.name)),
        "engines": sorted({*with_source, *user.repositories} - hidden),
        "has_mail": site.link_mails.server.is_set_up,
        "upload_mb": site.settings.upload_quota_mb if user.upload_mb is None else user.upload_mb,
        "errors": errors or {},
        "typed": typed if errors else {},
    }
    return await render_page(request, "profile.html", view, status)


def _present(form: Form, part: str) -> str:
    return form.text(_password_of(part))[:LONGEST_PASSWORD]


def _password_of(part: str) -> str:
    """The name of the password field: two forms ask for the present password, each with its own
    field."""
    return f"present_password_{part}"


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, show_profile, methods=["GET"]),
        Route(f"{HERE}/password", change_password, methods=["POST"]),
        Route(f"{HERE}/email", change_email, methods=["POST"]),
        Route(f"{HERE}/repositories", change_repositories, methods=["POST"]),
    ]
