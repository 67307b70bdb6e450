"""The user's own account: password, mail address, and a repository for each engine."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from rookery.core.errors import Complaint, make_sentence
from rookery.core.protocol.codec import BadField, WireFault
from rookery.core.protocol.people import MeChange
from rookery.server.engines.privacy import Privacy
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form, RequestInfo
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.identity.login import Throttled
from rookery.server.identity.users import NotPermitted, User, is_approver
from rookery.server.notify.link_mail import LinkMails
from rookery.server.people.account_changes import AccountChanges
from rookery.server.settings import Settings
from rookery.server.teams.teams import Teams

HERE = "/profile"
DIFFERENT = "The passwords do not match."
LONGEST_PASSWORD = 1024
LONGEST_ADDRESS = 300

Errors = Mapping[str, str]
"""Error messages by the name of their field."""


@dataclass(frozen=True, slots=True)
class ProfilePage(Parts):
    """The page of the user's own account."""

    user: User
    session: Session
    info: RequestInfo
    changes: AccountChanges
    mails: LinkMails
    teams: Teams
    privacy: Privacy
    settings: Settings

    async def change(
        self, wanted: MeChange, part: str, errors: Errors, done: str
    ) -> Page | Response:
        """Change the account, or show the form again with its errors."""
        status = 400
        try:
            if not errors:
                await self._change(wanted)
        except Throttled as refused:
            errors, status = {_password_of(part): str(refused)}, 429
        except NotPermitted as refused:
            errors = {_password_of(part): str(refused)}
        except BadField as refused:
            errors = {str(refused.fields["field"]): make_sentence(refused.fields["text"])}
        except (Complaint, WireFault) as refused:
            errors = {part: str(refused)}
        if errors:
            return self.show(errors, status)
        self.session.flash(done)
        return redirect_to(f"{HERE}#{part}")

    async def _change(self, wanted: MeChange) -> None:
        name, client = self.user.name, self.info.client
        changed = await self.changes.change_own(self.session, client, name, wanted)
        if changed.email != self.user.email:
            await self.mails.post_confirmation(changed)

    def show(self, errors: Errors | None = None, status: int = 200) -> Page:
        user, fields = self.user, self.info.form.fields
        typed = {name: value for name, value in fields if "password" not in name}
        known, hidden = self.privacy.catalogue(user.name).engines, self.privacy.hidden(user.name)
        with_source = (name for name, record in known.items() if record.source)
        quota = self.settings.upload_quota_mb if user.upload_mb is None else user.upload_mb
        view = {
            "user": user,
            "approver": is_approver(user),
            "teams": sorted(self.teams.of(user.name)),
            "engines": sorted({*with_source, *user.repositories} - hidden),
            "has_mail": self.mails.server.is_set_up,
            "upload_mb": quota,
            "errors": errors or {},
            "typed": typed if errors else {},
        }
        return Page("profile.html", view, status)


pages = Pages(HERE)
routes = pages.make_routes


@pages("GET /profile", "awaits one query; the page is rendered in a thread")
async def show_profile(profile: ProfilePage) -> Page:
    return profile.show()


@pages("POST /profile/password", "passwords are checked, judged and hashed in threads")
async def change_password(profile: ProfilePage, form: Form) -> Page | Response:
    new = form.text("password")[:LONGEST_PASSWORD]
    errors: Errors = {"password2": DIFFERENT} if new != form.text("password2") else {}
    wanted = MeChange(current_password=_present(form, "password"), password=new)
    return await profile.change(wanted, "password", errors, "Your password is changed.")


@pages("POST /profile/email", "the present password is checked in a thread")
async def change_email(profile: ProfilePage, form: Form) -> Page | Response:
    email = form.text("email").strip()[:LONGEST_ADDRESS]
    wanted = MeChange(current_password=_present(form, "email"), email=email)
    return await profile.change(wanted, "email", {}, "Your e-mail address is changed.")


@pages("POST /profile/repositories", "awaits one write; a refused form is rendered in a thread")
async def change_repositories(profile: ProfilePage, form: Form) -> Page | Response:
    """Set a repository for each engine. An empty field removes it."""
    given: dict[str, str | None] = {
        name.removeprefix("repositories."): value.strip()[:LONGEST_ADDRESS] or None
        for name, value in form.fields
        if name.startswith("repositories.")
    }
    wanted = MeChange(repositories=given)
    return await profile.change(wanted, "repositories", {}, "Your repositories are saved.")


def _present(form: Form, part: str) -> str:
    return form.text(_password_of(part))[:LONGEST_PASSWORD]


def _password_of(part: str) -> str:
    """The name of the password field: two forms ask for the present password, each with its own
    field."""
    return f"present_password_{part}"
