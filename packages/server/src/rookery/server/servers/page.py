"""The state of this server: readiness, role, limits and, for approvers, jobs, queues, threads and
disk."""

import platform
from collections.abc import Iterator

from starlette.responses import Response

from rookery.core.model.actor import Actor
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain
from rookery.server.farm.commits import StateLost
from rookery.server.farm.primary import Rebuilding
from rookery.server.http.bodies import ADDRESS_DIVISOR, LARGE_AT_ONCE
from rookery.server.http.faults import Forbidden
from rookery.server.http.pages.formatting import DAY, HOUR
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.http.turns import SEARCHES_AT_ONCE
from rookery.server.identity.login import (
    LOGINS_PER_NAME,
    PASSWORDS_PER_ADDRESS,
    PASSWORDS_PER_NAME,
    RESETS_PER_ADDRESS,
    RESETS_PER_NAME,
    Frequency,
)
from rookery.server.identity.profiles import LINK_MAILS, NEW_ADDRESSES, TRIALS
from rookery.server.identity.sign_up import SIGN_UPS_PER_ADDRESS
from rookery.server.servers.instances import NoStepDown, StepDown, check_step_down
from rookery.server.servers.probes import take_snapshot
from rookery.server.settings import Settings

HERE = "/server"
PLENTY = 2**60
"""The free space of a disk that nobody has measured."""
Rate = tuple[str, tuple[tuple[Frequency | None, str], ...]]
"""What is limited, and how often it may be done by whom; None for never."""


pages = Pages()
routes = pages.make_routes


@pages(f"GET {HERE}", "a snapshot on the loop, rendered in a thread")
async def server_page(viewer: Actor | None, site: Site) -> Page:
    """It shows the state of the whole process, and so asks for all of its parts."""
    reason = await site.readiness.reason_against()
    try:
        active = () if reason else await site.fleet.views.active()
    except (Rebuilding, StateLost):
        active, reason = (), "it is taking over"
    shown = {
        "now": site.clock.now(),
        "ready": not reason,
        "reason": reason or site.readiness.warning,
        "role": site.role,
        "active": active,
        "waiting_machines": site.fleet.activity.waiting_machines,
        "as_of": site.activity_keeping.describe_moment(),
        "version": site.version,
        "settings": site.settings,
        "bounds": site.limits,
        "rates": list_rates(site.settings),
        "at_once": {
            "searches": SEARCHES_AT_ONCE,
            "uploads": LARGE_AT_ONCE,
            "streams": max(1, site.settings.event_streams // ADDRESS_DIVISOR),
        },
        "quota": site.github_quota() if viewer is not None else None,
        "snapshot": None,
        "instances": (),
    }
    if viewer is not None and viewer.approver:
        shown |= await _load_details(site, ready=not reason)
    return Page("server.html", shown, 503 if reason else 200)


async def _load_details(site: Site, *, ready: bool) -> dict[str, object]:
    """What approvers see of this process and of the others."""
    return {
        "snapshot": take_snapshot(site),
        "machine": platform.uname(),
        "python": platform.python_version(),
        "lease": await site.read_lease() if ready else None,
        "instances": await site.instances.list_all() if ready else (),
        "files_trouble": site.file_owners.describe_trouble(),
        "disk": site.disk if site.disk.free < PLENTY else None,
    }


def list_rates(settings: Settings) -> Iterator[Rate]:
    """Rates above which calls are refused with 429."""
    wrong = ((PASSWORDS_PER_ADDRESS, "address"), (PASSWORDS_PER_NAME, "name"))
    yield "Wrong passwords", wrong
    yield "Log-ins", ((LOGINS_PER_NAME, "user"),)
    if settings.sign_up:
        yield "Sign-ups", ((SIGN_UPS_PER_ADDRESS, "address"),)
    yield "Password reset links", ((RESETS_PER_ADDRESS, "address"), (RESETS_PER_NAME, "name"))
    yield "E-mail address changes", ((NEW_ADDRESSES, "user"),)
    yield "Confirmation links", ((LINK_MAILS, "user"),)
    yield "Webhooks tried", ((TRIALS, "user"),)
    asked, told = settings.ask_visitor_questions, settings.ask_model_questions
    visitors = Frequency(asked, HOUR) if asked else None
    yield "Questions without an account", ((visitors, "address"),)
    if settings.ask_model_url:
        yield "Questions to the model", ((Frequency(told, DAY), "user"),) if told else ()


@pages(
    f"POST {HERE}/primary",
    "reads the lease and the servers, and tells the primary by the database",
    where=Domain.LOOP,
)
async def make_primary(viewer: Actor | None, site: Site, form: Form, session: Session) -> Response:
    """Make the primary step down for another server, as `rookery step-down` does."""
    if viewer is None or not viewer.approver:
        raise Forbidden("Only an approver may do this.")
    to = form.text("to")
    try:
        lease = await site.read_lease()
        if lease is None:
            raise NoStepDown("This server keeps no lease: it is the only one.")
        check_step_down(lease, await site.instances.list_all(), to)
    except NoStepDown as refused:
        session.flash(str(refused), "error")
        return redirect_to(HERE)
    await site.instances.ask_step_down(StepDown(lease.holder, to))
    site.log.info("step_down_asked", by=viewer.name, holder=lease.holder, to=to)
    session.flash(f"{lease.holder} was asked to let {to or 'another server'} be primary.")
    return redirect_to(HERE)
