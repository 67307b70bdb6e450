"""The page to add a machine: one line to paste, with a token made for it."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.http_places import is_loopback
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import address_of, site_of
from rookery.server.http.pages.page import redirect_to, render_page, viewer_of
from rookery.server.http.scope import session_of
from rookery.server.people.users import Scope

# The ways to connect a machine: lines to paste, with or without a new token.


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """One way to start a worker: for whom it is meant, and what to paste."""

    title: str
    text: str
    line: str


@dataclass(frozen=True, slots=True)
class MachinesView:
    """The page. `token` is empty until one was made; it is shown once."""

    token: str
    setups: tuple[WorkerSetup, ...]
    fingerprint: str = ""
    """The fingerprint of the key that installed workers will trust."""
    open_to_all: bool = False
    """Whether the connection is unencrypted, so that others could change what is installed."""


def make_machines_view(address: str, user: str, token: str, fingerprint: str = "") -> MachinesView:
    """The view. `address` is this server's address as machines reach it."""
    setups = _list_setups(address, user, token, fingerprint) if token else ()
    parts = urlsplit(address)
    return MachinesView(
        token, setups, fingerprint, parts.scheme == "http" and not is_loopback(parts.hostname or "")
    )


def _list_setups(address: str, user: str, token: str, fingerprint: str) -> tuple[WorkerSetup, ...]:
    piped = f"ROOKERY_ACCOUNT='{user}:{token}' ROOKERY_FINGERPRINT={fingerprint} sh"
    keep = f"(umask 077; echo '{user}:{token}' > rookery-worker.token)"
    return (
        WorkerSetup(
            "A new machine",
            "Installs the worker for your user only and prints how to start it. Needs Linux and"
            " Python 3.11; macOS is untried. This server then keeps it up to date.",
            f"curl -fsSL {address}/worker/install.sh | {piped}",
        ),
        WorkerSetup(
            "A machine with Rookery",
            "Plays every engine of this server and builds it where needed. Needs no database.",
            f"{keep} && ./rookery worker --server {address} --token-file rookery-worker.token",
        ),
        WorkerSetup(
            "An official fishtest worker",
            "Runs unchanged and plays the tests of Stockfish. The token replaces the password.",
            f"python3 worker.py {user} {token} {_place(address)} --concurrency MAX",
        ),
    )


def _place(address: str) -> str:
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"--protocol {parts.scheme} --host {parts.hostname} --port {port}"


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
    view = make_machines_view(address_of(request), viewer.name, token, site.fingerprint)
    answer = await render_page(request, "machines.html", view)
    answer.headers["cache-control"] = "no-store"
    return answer


def _name_secret(user: str, token_id: str) -> str:
    """The name of a token's secret in the session. It contains the user, so that nobody sees
    another's."""
    return f"{user} {token_id}"
