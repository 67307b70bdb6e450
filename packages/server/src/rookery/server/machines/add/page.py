"""The page to add a machine: one line to paste, with a token made for it."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.http_places import is_loopback
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import address_of, site_of
from rookery.server.http.pages.page import redirect_to, render_page, viewer_of
from rookery.server.http.scope import session_of
from rookery.server.people.users import Scope

HERE = "/machines/add"
NOTE = "created on the page Add a machine"


@runs(Domain.THREAD, "the token is written, the page rendered in a thread")
async def add_machine(request: Request) -> Response:
    """POST makes a token and redirects to where it is shown once, so that a reload does not make
    another."""
    viewer, site = await viewer_of(request), site_of(request)
    if viewer is None:
        return redirect_to(f"/login?next={HERE}")
    if request.method == "POST":
        minted = await site.accounts.create_token(viewer.name, frozenset({Scope.WORKER}), note=NOTE)
        key = _name_secret(viewer.name, minted.token.id)
        session_of(request.scope).keep_secret(key, minted.secret, site.clock.now())
        return redirect_to(f"{HERE}?made={minted.token.id}")
    made = request.query_params.get("made", "")
    key = _name_secret(viewer.name, made)
    token = session_of(request.scope).take_secret(key, site.clock.now())
    if made and not token:
        return redirect_to(HERE)
    shown = make_setup(address_of(request), viewer.name, token, site.fingerprint)
    answer = await render_page(request, "machines.html", shown)
    answer.headers["cache-control"] = "no-store"
    return answer


def make_setup(address: str, user: str, token: str, fingerprint: str = "") -> Mapping[str, object]:
    """What a machine needs to connect. `address` is this server's address as machines reach it;
    `token` is empty until one was made, and is shown once."""
    parts = urlsplit(address)
    return {
        "address": address,
        "user": user,
        "token": token,
        # Of the key that installed workers will trust.
        "fingerprint": fingerprint,
        "scheme": parts.scheme,
        "host": parts.hostname,
        "port": parts.port or (443 if parts.scheme == "https" else 80),
        # Whether others could read the connection, and change what is installed.
        "open_to_all": parts.scheme == "http" and not is_loopback(parts.hostname or ""),
    }


def _name_secret(user: str, token_id: str) -> str:
    """The name of a token's secret in the session. It contains the user, so that nobody sees
    another's."""
    return f"{user} {token_id}"
