"""The page to add a machine: one line to paste, with a token made for it."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.http_places import is_loopback
from rookery.core.model.actor import Actor
from rookery.server.boundary.domains import Domain
from rookery.server.http.answers import address_of
from rookery.server.http.endpoint import UNSEEN
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.session import Session
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.users import Scope
from rookery.server.machines.wheel import Wheel

HERE = "/machines/add"
NOTE = "created on the page Add a machine"


pages = Pages(HERE)
routes = pages.make_routes


@pages(f"POST {HERE}", "awaits one write", where=Domain.LOOP)
async def make_token(viewer: Actor, accounts: Accounts, session: Session, clock: Clock) -> Response:
    """Make a token and redirect to where it is shown once, so that a reload does not make
    another."""
    minted = await accounts.create_token(viewer.name, frozenset({Scope.WORKER}), note=NOTE)
    key = _name_secret(viewer.name, minted.token.id)
    session.keep_secret(key, minted.secret, clock.now())
    return redirect_to(f"{HERE}?made={minted.token.id}")


@pages(f"GET {HERE}", "nothing is loaded, rendered in a thread")
async def add_machine(
    request: Request, viewer: Actor, wheel: Wheel, session: Session, clock: Clock, made: str = ""
) -> Page | Response:
    """`made` is the id of the token to show."""
    token = session.take_secret(_name_secret(viewer.name, made), clock.now())
    if made and not token:
        return redirect_to(HERE)
    shown = make_setup(address_of(request), viewer.name, token, wheel.fingerprint)
    return Page("machines.html", shown, headers=UNSEEN)


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
