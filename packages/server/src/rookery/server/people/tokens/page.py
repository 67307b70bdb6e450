"""A person's access tokens: list them, make them with scopes and an expiry, show them once, revoke
them."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.errors import Complaint
from rookery.server.boundary.domains import Domain
from rookery.server.http.answers import address_of
from rookery.server.http.endpoint import UNSEEN
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.bearers import IN_PERSON, Caller
from rookery.server.identity.profiles import Profiles
from rookery.server.identity.users import ORDINARY, Scope, User, is_approver
from rookery.server.people.account_changes import AccountChanges

HERE = "/tokens"
LONGEST_NOTE = 200

PURPOSES: Mapping[Scope, str] = {
    Scope.READ: "view everything you have access to",
    Scope.SUBMIT: "submit, change and stop your tests, upload nets and books",
    Scope.APPROVE: "approve the tests of others",
    Scope.ADMIN: "approve, block and limit accounts",
    Scope.WORKER: "play for you and nothing else (for machines)",
}
"""What each scope allows a token to do, in the order of the form."""
LASTING: Mapping[str, str] = {
    "7": "7 days",
    "30": "30 days",
    "90": "90 days",
    "365": "a year",
    "": "until revoked",
}
"""The choices for the lifetime of a token, by days."""


class FormRefused(Exception):
    """A form can't be taken; `errors` are sentences by field."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(str(errors))
        self.errors = errors


@dataclass(frozen=True, slots=True)
class TokenPage(Parts):
    """The page of a user's tokens."""

    user: User
    accounts: Accounts
    session: Session
    clock: Clock
    request: Request

    async def show(self, form: Form | None = None, errors: Mapping[str, str] | None = None) -> Page:
        """The page, with what was typed if the form was refused."""
        now = self.clock.now()
        tokens = [*reversed(await self.accounts.tokens.of(self.user.name))]
        fresh, secret = self._take_secret({token.id for token in tokens})
        view = {
            "valid": [token for token in tokens if token.is_valid(now)],
            "former": [token for token in tokens if not token.is_valid(now)],
            "scopes": _list_scopes(self.user),
            "lasting": LASTING,
            "order": tuple(PURPOSES),
            "server": address_of(self.request),
            "now": now,
            # Of a token just made, shown once.
            "secret": secret,
            "fresh": fresh,
            "errors": errors or {},
            **_read_typed(form),
        }
        return Page("tokens.html", view, 400 if errors else 200, headers=UNSEEN)

    def _take_secret(self, own: set[str]) -> tuple[str, str]:
        """The token id in the address and its secret, if the token is the reader's and the secret
        was not shown yet."""
        made = self.request.query_params.get("made", "")
        if made not in own:
            return "", ""
        return made, self.session.take_secret(made, self.clock.now())


pages = Pages(HERE)
routes = pages.make_routes


@pages("GET /tokens", "awaits one query; the page is rendered in a thread")
async def list_own_tokens(page: TokenPage) -> Page:
    return await page.show()


@pages("POST /tokens", "awaits one write; a refused form is rendered in a thread")
async def make_token(page: TokenPage, profiles: Profiles, form: Form) -> Page | Response:
    """Make a token and redirect to the page that shows its secret, so that a reload does not make
    another."""
    try:
        scopes, days, note = _read_wish(form, page.user)
        minted = await profiles.create_token(page.user, scopes, days, note)
    except FormRefused as refused:
        return await page.show(form, refused.errors)
    except Complaint as refused:
        return await page.show(form, {"scopes": str(refused)})
    page.session.keep_secret(minted.token.id, minted.secret, page.clock.now())
    return redirect_to(f"{HERE}?made={minted.token.id}")


@pages("POST /tokens/{token_id}/revoke", "awaits one write", where=Domain.LOOP)
async def revoke_by_form(
    token_id: str, user: User, changes: AccountChanges, session: Session
) -> Response:
    try:
        token = await changes.revoke_own_token(Caller(user, IN_PERSON), token_id)
        session.flash(f"The token {token.note or token.id} is revoked.")
    except REFUSALS as refused:
        session.flash(text_of(refused), "error")
    return redirect_to(HERE)


def _list_scopes(user: User) -> list[tuple[Scope, str]]:
    hidden = frozenset() if is_approver(user) else {Scope.APPROVE, Scope.ADMIN}
    return [(scope, text) for scope, text in PURPOSES.items() if scope not in hidden]


def _read_wish(form: Form, user: User) -> tuple[frozenset[Scope], int | None, str]:
    """The scopes, days and note in a form. Raises FormRefused."""
    known = {scope.value for scope, _ in _list_scopes(user)}
    wanted = {value for name, value in form.fields if name == "scope"}
    note, days, errors = form.text("note").strip(), form.text("days"), {}
    if not wanted:
        errors["scopes"] = "Choose at least one scope."
    elif not wanted <= known:
        errors["scopes"] = "You cannot grant one of these scopes."
    if len(note) > LONGEST_NOTE:
        errors["note"] = f"A note can have at most {LONGEST_NOTE} characters."
    if days not in LASTING:
        errors["days"] = "Choose one of these."
    if errors:
        raise FormRefused(errors)
    return frozenset(map(Scope, wanted)), int(days) if days else None, note


def _read_typed(form: Form | None) -> Mapping[str, object]:
    """The content of a refused form, or of a new one."""
    if form is None:
        return {"chosen": ORDINARY, "days": "90", "note": ""}
    chosen = {value for name, value in form.fields if name == "scope"}
    return {"chosen": chosen, "days": form.text("days"), "note": form.text("note")}
