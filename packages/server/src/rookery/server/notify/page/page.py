"""Notifications outside of the pages: mail, webhooks, their log, and following a run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from starlette.datastructures import QueryParams
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.errors import Complaint
from rookery.core.model.actor import Actor
from rookery.core.model.notifications import Notification, NotificationKind
from rookery.server.boundary.domains import Domain
from rookery.server.engines.privacy import Privacy
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.http.faults import Forbidden
from rookery.server.http.pages.listing import ListAddress, make_open_pager, read_page
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form, is_local
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.identity.login import Throttled
from rookery.server.identity.profiles import Profiles
from rookery.server.identity.users import User, is_approver
from rookery.server.notify.channels import WebhookChecks, list_open_kinds, make_channel
from rookery.server.notify.link_mail import LinkMails
from rookery.server.notify.outbox import (
    ChannelForm,
    Channels,
    DueDelivery,
    NotificationChannel,
    Outbox,
    Subscriptions,
)
from rookery.server.notify.sending import Sender
from rookery.server.notify.wording import KIND_WORDS, describe_notification

HERE = "/profile/notifications"
PAGE_ROWS = 50
FORM_WORDS: Mapping[ChannelForm, str] = {
    ChannelForm.JSON: "JSON, signed",
    ChannelForm.DISCORD: "Discord",
    ChannelForm.SLACK: "Slack",
}


pages = Pages(HERE)
routes = pages.make_routes
"""These routes must precede those of a run, whose commands would match `follow` too."""


@dataclass(frozen=True, slots=True)
class NotificationPage(Parts):
    """The page of a user's notifications."""

    user: User
    channels: Channels
    outbox: Outbox
    privacy: Privacy
    mails: LinkMails
    session: Session
    clock: Clock
    query: QueryParams

    async def show(self, form: Form | None = None, errors: Mapping[str, str] | None = None) -> Page:
        """The page, with what was typed if the form of a webhook was refused."""
        user = self.user
        channels = await self.channels.of(user.name)
        view = {
            "now": self.clock.now(),
            "user": user,
            "has_mail": self.mails.server.is_set_up,
            "kinds": list_kinds(user),
            "words": KIND_WORDS,
            "mail": next((each for each in channels if each.form is ChannelForm.MAIL), None),
            "webhooks": [
                (each, hint_at_address(each))
                for each in channels
                if each.form is not ChannelForm.MAIL
            ],
            "forms": {form.value: words for form, words in FORM_WORDS.items()},
            "approver": is_approver(user),
            "secret": self._take_secret({str(each.id) for each in channels}),
            "errors": errors or {},
            **await self._load_log(),
            **_read_typed(form),
        }
        return Page("notifications.html", view, 400 if errors else 200)

    async def _load_log(self) -> Mapping[str, object]:
        """A page of the log: of the user, or of everybody for an approver who asks for that."""
        user, page = self.user, read_page(self.query)
        all_users = is_approver(user) and self.query.get("of") == "all"
        first = (page - 1) * PAGE_ROWS
        log = await self.outbox.page("" if all_users else user.name, first, PAGE_ROWS + 1)
        hidden = self.privacy.hidden(user.name)
        seen = [each for each in log[:PAGE_ROWS] if not each.engines & hidden]
        address = ListAddress(HERE, {"of": "all" if all_users else ""})
        return {
            "all_users": all_users,
            "deliveries": [(each, describe_notification(each.told)) for each in seen],
            "pager": make_open_pager(address, page, more=len(log) > PAGE_ROWS),
        }

    def _take_secret(self, own: set[str]) -> str:
        """The secret of a new webhook, shown once to its owner."""
        made = self.query.get("made", "")
        return self.session.take_secret(f"webhook {made}", self.clock.now()) if made in own else ""


@pages("GET /profile/notifications", "awaits two queries; the page is rendered in a thread")
async def show_notifications(page: NotificationPage) -> Page:
    return await page.show()


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


def list_kinds(user: User) -> tuple[tuple[NotificationKind, str], ...]:
    """The kinds of notifications that a user may choose."""
    return tuple(
        (kind, words) for kind, words in KIND_WORDS.items() if kind in list_open_kinds(user)
    )


# Forms: choose mail; add, change, test and remove webhooks.


@pages("POST /profile/notifications/mail", "awaits one write", where=Domain.LOOP)
async def choose_mail(
    user: User, channels: Channels, form: Form, session: Session, clock: Clock
) -> Response:
    """Set what a user is mailed about; no kind means no mail."""
    kinds = _read_kinds(form, user)
    await channels.add(make_channel(user, ChannelForm.MAIL, "", kinds, clock.now()))
    session.flash("You will get mail." if kinds else "You will get no mail.")
    return redirect_to(HERE)


@pages("POST /profile/notifications/webhooks", "the address is looked up in an io thread")
async def add_webhook(page: NotificationPage, checks: WebhookChecks, form: Form) -> Page | Response:
    user, now = page.user, page.clock.now()
    address, kinds = form.text("address").strip(), _read_kinds(form, user)
    errors = await checks.find_mistakes(user, form.text("form"), address, kinds)
    if errors:
        return await page.show(form, errors)
    channel = make_channel(user, ChannelForm(form.text("form")), address, kinds, now)
    number = await page.channels.add(channel)
    page.session.keep_secret(f"webhook {number}", channel.secret, now)
    return redirect_to(f"{HERE}?made={number}")


@dataclass(frozen=True, slots=True)
class ChannelCommands(Parts):
    """What a user does to a webhook. Each command says on the next page what became of it."""

    user: User
    channels: Channels
    profiles: Profiles
    sender: Sender
    session: Session
    clock: Clock

    async def switch(self, channel: NotificationChannel, *, on: bool) -> None:
        await self.channels.change(replace(channel, active=on, next_at=self.clock.now()))
        self.session.flash(f"The webhook is switched {'on' if on else 'off'}.")

    async def remove(self, channel: NotificationChannel) -> None:
        await self.channels.remove(channel.id, self.user.name)
        self.session.flash("The webhook is removed.")

    async def try_out(self, channel: NotificationChannel) -> None:
        """Send a test message directly, not through the outbox."""
        user, session = self.user, self.session
        told = Notification(
            at=self.clock.now(),
            kind=NotificationKind.FINISHED,
            title="a trial",
            message=f"{user.name} tries this webhook",
        )
        try:
            self.profiles.charge_trial(user.name)
            await self.sender.send(channel, user, user.email, [DueDelivery(0, told, frozenset())])
            session.flash("The webhook accepted the trial.")
        except Throttled as refused:
            session.flash(str(refused), "error")
        except Complaint as refused:
            session.flash(f"The webhook refused the trial: {refused}.", "error")


@pages("POST /profile/notifications/change", "the webhook is called in an io thread")
async def change_channel(commands: ChannelCommands, form: Form) -> Response:
    """Test a webhook, switch it on or off, or remove it."""
    wanted, what = form.text("channel"), form.text("do")
    own = await commands.channels.of(commands.user.name)
    found = [each for each in own if str(each.id) == wanted and each.form in FORM_WORDS]
    if not found:
        commands.session.flash("There is no such webhook.", "error")
    elif what == "try":
        await commands.try_out(found[0])
    elif what == "remove":
        await commands.remove(found[0])
    else:
        await commands.switch(found[0], on=what == "start")
    return redirect_to(HERE)


def _read_kinds(form: Form, user: User) -> frozenset[NotificationKind]:
    known = {kind.value for kind, _ in list_kinds(user)}
    wanted = {value for name, value in form.fields if name == "kind"}
    return frozenset(map(NotificationKind, wanted & known))


@pages("POST /profile/confirm", "awaits one write", where=Domain.LOOP)
async def send_confirmation(
    user: User, mails: LinkMails, profiles: Profiles, session: Session
) -> Response:
    """Mail the link that confirms an address again, a few times an hour at most."""
    if not mails.server.is_set_up:
        raise Forbidden("This server sends no mail.")
    try:
        profiles.charge_mail(user.name)
        await mails.post_confirmation(user)
        session.flash(f"A link is on its way to {user.email}.")
    except Throttled as refused:
        session.flash(str(refused), "error")
    return redirect_to("/profile#email")


# Following a run.


@dataclass(frozen=True, slots=True)
class Following(Parts):
    """Follows a run that the viewer may see, or stops that."""

    viewer: Actor
    runs: VisibleRuns
    subscriptions: Subscriptions
    channels: Channels
    session: Session
    form: Form

    async def put(self, run_id: str, *, following: bool) -> Response:
        name = self.viewer.name
        run = await self.runs.find_part(run_id, self.viewer)
        await self.subscriptions.put(run.id, name, following=following)
        told = "You follow this test." if following else "You no longer follow this test."
        if following and not any(each.active for each in await self.channels.of(name)):
            told += " To get a notification when it ends, choose how under Profile, Notifications."
        self.session.flash(told)
        place = self.form.text("next")
        return redirect_to(place if place and is_local(place) else f"/runs/{run.id}")


@pages("POST /runs/{run_id}/follow", "awaits one write", where=Domain.LOOP, back="/runs/{run_id}")
async def follow_run(run_id: str, following: Following) -> Response:
    return await following.put(run_id, following=True)


@pages("POST /runs/{run_id}/unfollow", "awaits one write", where=Domain.LOOP, back="/runs/{run_id}")
async def unfollow_run(run_id: str, following: Following) -> Response:
    return await following.put(run_id, following=False)
