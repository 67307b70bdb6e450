"""Everything between a commit and those who are told of it, on a real database, with a mail server
and a listener of their own."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.model.events import Action, Event, about_run
from rookery.core.model.notifications import NotificationKind
from rookery.core.model.run import Run
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.rules.answers import Changes
from rookery.server.farm.store import FleetStore
from rookery.server.http.steps import Process
from rookery.server.identity.links import LinkSigner
from rookery.server.identity.users import Users
from rookery.server.notify.link_mail import LinkMailRows, LinkMails
from rookery.server.notify.mail import MailServer
from rookery.server.notify.outbox import (
    ChannelForm,
    Channels,
    LoggedDelivery,
    NotificationChannel,
    Outbox,
    Subscriptions,
)
from rookery.server.notify.sending import Sender
from rookery.server.notify.webhooks import Webhooks
from rookery.server.sources.git import resolve_host
from tests.database import pool_on
from tests.fakes import HandClock, RecordedLog
from tests.people import BORIS, OLGA
from tests.receivers import Listener, MailBox, open_listener, open_mail_box
from tests.storage.farm.stores import finished, kept, opened

ENDS = frozenset({NotificationKind.FINISHED, NotificationKind.FAILED})
ALL = frozenset(NotificationKind)
OVER = finished("a")
OWNER = replace(OLGA, name=OVER.plan.owner, email="o@example.org", verified_email="o@example.org")
SERVER = "https://tests.example.org"


BREAKING = "https://breaking.example.org/"


def resolve_or_break(host: str) -> tuple[str, ...]:
    """The addresses of a host; one of them fails in a way that no code foresees."""
    if host in BREAKING:
        raise RuntimeError(host)
    return resolve_host(host)


class HiddenEngines:
    """Who may not see which engines."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()

    def hidden(self, _viewer: str | None) -> frozenset[str]:
        return self.names


@dataclass(frozen=True, slots=True)
class Post:
    """Everything between a commit and its receivers."""

    store: FleetStore
    users: Users
    channels: Channels
    subscriptions: Subscriptions
    outbox: Outbox
    sender: Sender
    link_mails: LinkMails
    clock: HandClock
    hidden: HiddenEngines
    mail: MailBox
    hook: Listener

    async def commit(self, run: Run = OVER, *events: Event) -> None:
        told = events or (about_run(Action.FINISHED_RUN, run, run.plan.owner, self.clock.now()),)
        await kept(self.store, Changes(runs=(run,), events=told))

    async def add_channel(
        self,
        form: ChannelForm = ChannelForm.JSON,
        kinds: frozenset[NotificationKind] = ENDS,
        user: str = OWNER.name,
        address: str = "",
    ) -> None:
        now = self.clock.now()
        where = address or ("" if form is ChannelForm.MAIL else self.hook.address)
        await self.channels.add(
            NotificationChannel(0, user, form, where, "key", kinds, True, now, 0, now)
        )

    async def log(self, user: str = "") -> tuple[LoggedDelivery, ...]:
        return await self.outbox.page(user, 0, 50)

    async def states(self) -> list[str]:
        return [each.state.value for each in await self.log()]


@pytest.fixture(scope="module")
def mail_box() -> Iterator[MailBox]:
    with open_mail_box() as box:
        yield box


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with open_listener() as hook:
        yield hook


@pytest.fixture
def inside(request: pytest.FixtureRequest) -> str:
    """The host inside this network that webhooks may call."""
    return str(getattr(request, "param", "127.0.0.1"))


@pytest.fixture
async def post(
    database: Target, queries: Queries, mail_box: MailBox, listener: Listener, inside: str
) -> AsyncIterator[Post]:
    clock, log, hidden = HandClock(), RecordedLog(), HiddenEngines()
    threads, links = Threads(), LinkSigner(lambda: b"key", clock)
    mail_box.letters, mail_box.unknown = [], frozenset()
    mail_box.refuses, mail_box.refused = False, 0
    listener.calls, listener.status = [], 200
    async with opened(database, queries) as store, pool_on(database) as pool:
        users, outbox = Users(pool, queries), Outbox(pool, queries)
        server = MailServer("127.0.0.1", mail_box.port, "none", sender="Rookery <r@example.org>")
        rows = LinkMailRows(pool, queries)
        letters = LinkMails(server, links, SERVER, rows, users, Process(threads, clock, log))
        sender = Sender(
            outbox,
            users,
            letters,
            Webhooks(SERVER, frozenset({inside}), clock, resolve_or_break),
            hidden,  # type: ignore[arg-type]  # all that is asked of privacy here
            lambda: True,
        )
        for user in (OWNER, BORIS):
            await users.add(user)
        channels, subscriptions = Channels(pool, queries), Subscriptions(pool, queries)
        yield Post(
            store,
            users,
            channels,
            subscriptions,
            outbox,
            sender,
            letters,
            clock,
            hidden,
            mail_box,
            listener,
        )
