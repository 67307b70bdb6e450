"""A person's access tokens: list them, make them with scopes and an expiry, show them once, revoke
them."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.errors import Complaint
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import address_of, site_of
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.pages.page import account_of, redirect_to, render_page
from rookery.server.http.scope import Form, request_info_of, session_of
from rookery.server.people.bearers import IN_PERSON, Caller
from rookery.server.people.me_api import revoke_own_token
from rookery.server.people.users import ORDINARY, Scope, User, is_approver

HERE = "/tokens"
LOGIN = f"/login?next={HERE}"
"""The login page, which leads back to this page."""
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


@runs(Domain.THREAD, "awaits one query; the page is rendered in a thread")
async def list_own_tokens(request: Request) -> Response:
    user = await account_of(request)
    return redirect_to(LOGIN) if user is None else await _show(request, user)


@runs(Domain.THREAD, "awaits one write; a refused form is rendered in a thread")
async def make_token(request: Request) -> Response:
    """Make a token and redirect to the page that shows its secret, so that a reload does not make
    another."""
    user, site = await account_of(request), site_of(request)
    if user is None:
        return redirect_to(LOGIN)
    form = request_info_of(request.scope).form
    try:
        scopes, days, note = _read_wish(form, user)
        minted = await site.profiles.create_token(user, scopes, days, note)
    except FormRefused as refused:
        return await _show(request, user, form, refused.errors)
    except Complaint as refused:
        return await _show(request, user, form, {"scopes": str(refused)})
    session_of(request.scope).keep_secret(minted.token.id, minted.secret, site.clock.now())
    return redirect_to(f"{HERE}?made={minted.token.id}")


@runs(Domain.LOOP, "awaits one write")
async def revoke_by_form(request: Request) -> Response:
    user, session = await account_of(request), session_of(request.scope)
    if user is None:
        return redirect_to(LOGIN)
    try:
        token_id = str(request.path_params["token_id"])
        token = await revoke_own_token(site_of(request), Caller(user, IN_PERSON), token_id)
        session.flash(f"The token {token.note or token.id} is revoked.")
    except REFUSALS as refused:
        session.flash(text_of(refused), "error")
    return redirect_to(HERE)


async def _show(
    request: Request, user: User, form: Form | None = None, errors: Mapping[str, str] | None = None
) -> Response:
    site = site_of(request)
    now = site.clock.now()
    tokens = [*reversed(await site.accounts.tokens.of(user.name))]
    fresh, secret = _take_secret(request, {token.id for token in tokens})
    view = {
        "valid": [token for token in tokens if token.is_valid(now)],
        "former": [token for token in tokens if not token.is_valid(now)],
        "scopes": _list_scopes(user),
        "lasting": LASTING,
        "order": tuple(PURPOSES),
        "server": address_of(request),
        "now": now,
        # Of a token just made, shown once.
        "secret": secret,
        "fresh": fresh,
        "errors": errors or {},
        **_read_typed(form),
    }
    answer = await render_page(request, "tokens.html", view, 400 if errors else 200)
    answer.headers["cache-control"] = "no-store"
    return answer


def _take_secret(request: Request, own: set[str]) -> tuple[str, str]:
    """The token id in the address and its secret, if the token is the reader's and the secret was
    not shown yet."""
    made = request.query_params.get("made", "")
    if made not in own:
        return "", ""
    return made, session_of(request.scope).take_secret(made, site_of(request).clock.now())


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


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, list_own_tokens, methods=["GET"]),
        Route(HERE, make_token, methods=["POST"]),
        Route(f"{HERE}/{{token_id}}/revoke", revoke_by_form, methods=["POST"]),
    ]
