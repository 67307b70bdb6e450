"""Notifications outside of the pages: mail, webhooks, their log, and following a run."""

from collections.abc import Mapping
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.errors import Complaint
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.notifications import Notification, NotificationKind
from rookery.server.http.answers import site_of
from rookery.server.http.faults import Forbidden
from rookery.server.http.pages.listing import ListAddress, make_open_pager, read_page
from rookery.server.http.pages.page import (
    account_of,
    find_run_for,
    redirect_to,
    render_page,
    viewer_of,
)
from rookery.server.http.scope import Form, is_local, request_info_of, session_of
from rookery.server.notify.channels import check_webhook, list_open_kinds, make_channel
from rookery.server.notify.outbox import (
    ChannelForm,
    DueDelivery,
    NotificationChannel,
)
from rookery.server.notify.wording import KIND_WORDS, describe_notification
from rookery.server.people.login import Throttled
from rookery.server.people.users import User, is_approver

HERE = "/profile/notifications"
LOGIN = f"/login?next={HERE}"
PAGE_ROWS = 50
FORM_WORDS: Mapping[ChannelForm, str] = {
    ChannelForm.JSON: "JSON, signed",
    ChannelForm.DISCORD: "Discord",
    ChannelForm.SLACK: "Slack",
}


@runs(Domain.THREAD, "awaits two queries; the page is rendered in a thread")
async def show_notifications(request: Request) -> Response:
    user = await account_of(request)
    return redirect_to(LOGIN) if user is None else await _show(request, user)


async def _show(
    request: Request, user: User, form: Form | None = None, errors: Mapping[str, str] | None = None
) -> Response:
    site, query, now = site_of(request), request.query_params, site_of(request).clock.now()
    all_users = is_approver(user) and query.get("of") == "all"
    page, made = read_page(query), query.get("made", "")
    channels = await site.channels.of(user.name)
    log = await site.outbox.page(
        "" if all_users else user.name, (page - 1) * PAGE_ROWS, PAGE_ROWS + 1
    )
    hidden = site.privacy.hidden(user.name)
    seen = [each for each in log[:PAGE_ROWS] if not each.engines & hidden]
    address = ListAddress(HERE, {"of": "all" if all_users else ""})
    view = {
        "now": now,
        "user": user,
        "has_mail": site.link_mails.server.is_set_up,
        "kinds": list_kinds(user),
        "words": KIND_WORDS,
        "mail": next((each for each in channels if each.form is ChannelForm.MAIL), None),
        "webhooks": [
            (each, hint_at_address(each)) for each in channels if each.form is not ChannelForm.MAIL
        ],
        "deliveries": [(each, describe_notification(each.told)) for each in seen],
        "forms": {form.value: words for form, words in FORM_WORDS.items()},
        "pager": make_open_pager(address, page, more=len(log) > PAGE_ROWS),
        "approver": is_approver(user),
        "all_users": all_users,
        "secret": _take_secret(request, f"webhook {made}", {str(each.id) for each in channels}),
        "errors": errors or {},
        **_read_typed(form),
    }
    return await render_page(request, "notifications.html", view, 400 if errors else 200)


def _read_typed(form: Form | None) -> Mapping[str, object]:
    """The content of a refused form for a webhook, or of a new one."""
    if form is None:
        kinds = {NotificationKind.FINISHED, NotificationKind.FAILED}
        return {"address": "", "form": ChannelForm.JSON.value, "chosen": kinds}
    chosen = {value for name, value in form.fields if name == "kind"}
    return {"address": form.text("address"), "form": form.text("form"), "chosen": chosen}


def hint_at_address(channel: NotificationChannel) -> str:
    """The beginning of a webhook's address. With many services the address is a secret."""
    return channel.address[: len(channel.address) // 2][:60]


def _take_secret(request: Request, key: str, own: set[str]) -> str:
    """The secret of a new webhook, shown once to its owner."""
    if key.removeprefix("webhook ") not in own:
        return ""
    return session_of(request.scope).take_secret(key, site_of(request).clock.now())


def list_kinds(user: User) -> tuple[tuple[NotificationKind, str], ...]:
    """The kinds of notifications that a user may choose."""
    return tuple(
        (kind, words) for kind, words in KIND_WORDS.items() if kind in list_open_kinds(user)
    )


# Forms: choose mail; add, change, test and remove webhooks.


@runs(Domain.LOOP, "awaits one write")
async def choose_mail(request: Request) -> Response:
    """Set what a user is mailed about; no kind means no mail."""
    user, site = await account_of(request), site_of(request)
    if user is None:
        return redirect_to(LOGIN)
    kinds = _read_kinds(request_info_of(request.scope).form, user)
    await site.channels.add(make_channel(site, user, ChannelForm.MAIL, "", kinds))
    told = "You will get mail." if kinds else "You will get no mail."
    session_of(request.scope).flash(told)
    return redirect_to(HERE)


@runs(Domain.THREAD, "the address is looked up in an io thread")
async def add_webhook(request: Request) -> Response:
    user, site = await account_of(request), site_of(request)
    if user is None:
        return redirect_to(LOGIN)
    form = request_info_of(request.scope).form
    address, kinds = form.text("address").strip(), _read_kinds(form, user)
    errors = await check_webhook(site, user, form.text("form"), address, kinds)
    if errors:
        return await _show(request, user, form, errors)
    channel = make_channel(site, user, ChannelForm(form.text("form")), address, kinds)
    number = await site.channels.add(channel)
    secret = f"webhook {number}", channel.secret
    session_of(request.scope).keep_secret(*secret, site.clock.now())
    return redirect_to(f"{HERE}?made={number}")


@runs(Domain.THREAD, "the webhook is called in an io thread")
async def change_channel(request: Request) -> Response:
    """Test a webhook, switch it on or off, or remove it."""
    user, site, session = await account_of(request), site_of(request), session_of(request.scope)
    if user is None:
        return redirect_to(LOGIN)
    form = request_info_of(request.scope).form
    wanted, what = form.text("channel"), form.text("do")
    own = await site.channels.of(user.name)
    found = [each for each in own if str(each.id) == wanted and each.form in FORM_WORDS]
    if not found:
        session.flash("There is no such webhook.", "error")
        return redirect_to(HERE)
    channel = found[0]
    if what == "try":
        await _try(request, user, channel)
    elif what == "remove":
        await site.channels.remove(channel.id, user.name)
        session.flash("The webhook is removed.")
    else:
        on = what == "start"
        await site.channels.change(replace(channel, active=on, next_at=site.clock.now()))
        session.flash("The webhook is switched on." if on else "The webhook is switched off.")
    return redirect_to(HERE)


async def _try(request: Request, user: User, channel: NotificationChannel) -> None:
    """Send a test message directly, not through the outbox, and show the outcome."""
    site, session = site_of(request), session_of(request.scope)
    told = Notification(
        at=site.clock.now(),
        kind=NotificationKind.FINISHED,
        title="a trial",
        message=f"{user.name} tries this webhook",
    )
    try:
        site.profiles.charge_trial(user.name)
        await site.sender.send(channel, user, user.email, [DueDelivery(0, told, frozenset())])
        session.flash("The webhook accepted the trial.")
    except Throttled as refused:
        session.flash(str(refused), "error")
    except Complaint as refused:
        session.flash(f"The webhook refused the trial: {refused}.", "error")


def _read_kinds(form: Form, user: User) -> frozenset[NotificationKind]:
    known = {kind.value for kind, _ in list_kinds(user)}
    wanted = {value for name, value in form.fields if name == "kind"}
    return frozenset(map(NotificationKind, wanted & known))


@runs(Domain.LOOP, "awaits one write")
async def send_confirmation(request: Request) -> Response:
    """Mail the link that confirms an address again, a few times an hour at most."""
    user, site = await account_of(request), site_of(request)
    if user is None:
        return redirect_to(LOGIN)
    if not site.link_mails.server.is_set_up:
        raise Forbidden("This server sends no mail.")
    session = session_of(request.scope)
    try:
        site.profiles.charge_mail(user.name)
        await site.link_mails.post_confirmation(user)
        session.flash(f"A link is on its way to {user.email}.")
    except Throttled as refused:
        session.flash(str(refused), "error")
    return redirect_to("/profile#email")


# Following a run.


@runs(Domain.LOOP, "awaits one write")
async def follow_run(request: Request) -> Response:
    return await _set_following(request, following=True)


@runs(Domain.LOOP, "awaits one write")
async def unfollow_run(request: Request) -> Response:
    return await _set_following(request, following=False)


async def _set_following(request: Request, *, following: bool) -> Response:
    viewer, site = await viewer_of(request), site_of(request)
    if viewer is None:
        return redirect_to(f"/login?next=/runs/{request.path_params['run_id']}")
    run = await find_run_for(viewer, request)
    await site.subscriptions.put(run.id, viewer.name, following=following)
    told = "You follow this test." if following else "You no longer follow this test."
    if following and not any(each.active for each in await site.channels.of(viewer.name)):
        told += " To get a notification when it ends, choose how under Profile, Notifications."
    session_of(request.scope).flash(told)
    place = request_info_of(request.scope).form.text("next")
    return redirect_to(place if place and is_local(place) else f"/runs/{run.id}")


def routes() -> list[BaseRoute]:
    """The routes. They must precede those of a run, whose commands would match `follow` too."""
    return [
        Route(HERE, show_notifications, methods=["GET"]),
        Route(f"{HERE}/mail", choose_mail, methods=["POST"]),
        Route(f"{HERE}/webhooks", add_webhook, methods=["POST"]),
        Route(f"{HERE}/change", change_channel, methods=["POST"]),
        Route("/profile/confirm", send_confirmation, methods=["POST"]),
        Route("/runs/{run_id}/follow", follow_run, methods=["POST"]),
        Route("/runs/{run_id}/unfollow", unfollow_run, methods=["POST"]),
    ]
