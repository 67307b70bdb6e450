"""The other data of an invented farm, so that no page of a demo stays empty: teams, nets, books,
programs, tokens, conversations, and sent notifications."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from rookery.core.boundary.offload import Threads
from rookery.core.model.actor import Actor
from rookery.core.model.events import SYSTEM, about_net
from rookery.core.model.notifications import NotificationKind
from rookery.core.model.run import Run
from rookery.core.protocol.v1 import EngineVersion
from rookery.demo.seeding_files import invent_book, invent_net, invent_program
from rookery.demo.seeding_people import QUESTIONS, TEAMS, TOKENS, invent_engines
from rookery.server.ask.passages import FoundPassage, PassageKind
from rookery.server.ask.sessions import ChatLimits, ChatRows, ChatSessions
from rookery.server.commands.db import Database
from rookery.server.engines.engines import EngineRows
from rookery.server.files.books import BookRows, BookStore
from rookery.server.files.engine_files import NetRows, NetStore, ProgramRows, ProgramStore
from rookery.server.files.places import FilePlace
from rookery.server.identity.users import ORDINARY, Scope, mint
from rookery.server.notify.outbox import (
    ChannelForm,
    Channels,
    DeliveryState,
    NotificationChannel,
    Outbox,
    Subscriptions,
)
from rookery.server.teams.teams import TeamRows, Teams

NETS, BOOKS, PROGRAMS = 5, 2, 2
OPENINGS_OF_A_BOOK = 120
TOLD = ("alva", "birk")
"""The users with channels. Nothing is ever sent to their addresses."""
FOLLOWED_RUNS = 40
AT_A_TIME = 1000


async def add_teams_and_engines(opened: Database) -> None:
    """Add teams, and engine records written by the first member of their team."""
    accounts = opened.accounts
    rows = TeamRows(opened.pool, opened.queries)
    teams = Teams(rows, accounts.users, accounts.clock, accounts.audit)
    await teams.load()
    for name, members in TEAMS.items():
        lead = Actor(members[0])
        if not teams.exists(name):
            await teams.create(name, lead)
        for member in members[1:]:
            await teams.add_member(name, member, lead)
    engines, now = EngineRows(opened.pool, opened.queries), accounts.clock.now()
    for record in invent_engines():
        lead_name = TEAMS.get(record.team, (SYSTEM,))[0]
        await engines.save(EngineVersion(record=record, changed=now, changed_by=lead_name))


async def add_tokens(opened: Database) -> None:
    """Add tokens of all kinds. Their secrets are dropped."""
    accounts, now = opened.accounts, opened.accounts.clock.now()
    for each in TOKENS:
        made = now - timedelta(days=each.age_days)
        scopes = frozenset({Scope.WORKER}) if each.worker else ORDINARY
        minted = mint(each.user, scopes, now=made, chance=accounts.chance, note=each.note)
        token = minted.token
        if each.lasting_days is not None:
            token = replace(token, expires=made + timedelta(days=each.lasting_days))
        if each.used_hours_ago is not None:
            token = replace(token, used=now - timedelta(hours=each.used_hours_ago))
        await accounts.tokens.add(token)
        if each.revoked:
            await accounts.tokens.revoke(token.id, now - timedelta(days=30))


async def add_files(opened: Database, place: FilePlace, chance: Random) -> None:
    """Add nets, books and programs, with their content in the file store."""
    pool, queries, clock, threads = opened.pool, opened.queries, opened.accounts.clock, Threads()
    nets = NetStore(NetRows(pool, queries), place.blobs("nets"), threads, clock)
    for number in range(NETS):
        name, weights = invent_net(chance)
        user = TOLD[number % len(TOLD)]
        await nets.upload(_give(weights), name, user)
        await opened.accounts.audit.write(about_net(name, user, clock.now()))
    books = BookStore(BookRows(pool, queries), place.blobs("books"), threads, clock)
    for number in range(BOOKS):
        text = await threads.cpu(invent_book, 1000 * (number + 1), OPENINGS_OF_A_BOOK)
        await books.upload(_give(text), f"kestrel_{number + 1}.epd", "birk")
    programs = ProgramStore(ProgramRows(pool, queries), place.blobs("binaries"), threads, clock)
    for number in range(PROGRAMS):
        await programs.upload(_give(invent_program(chance)), f"kestrel-0.{number + 1}", "alva")


async def _give(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def add_chats(opened: Database, runs: list[Run]) -> None:
    """Add kept conversations with runs as their sources."""
    rows = ChatRows(opened.pool, opened.queries)
    chats = ChatSessions(rows, opened.accounts.clock, ChatLimits())
    for number, (question, answer) in enumerate(QUESTIONS):
        draft = chats.draft(question, temporary=False)
        sources = tuple(map(_as_source, runs[2 * number : 2 * number + 2]))
        cited = answer + "".join(f" [{place}]" for place in range(1, len(sources) + 1))
        await chats.remember(draft, "alva", question, cited, sources, begin=True)


def _as_source(run: Run) -> FoundPassage:
    new = run.plan.new
    return FoundPassage(
        id=f"run:{run.id}#0",
        kind=PassageKind.RUN,
        title=f"{new.tag} against {run.plan.base.tag}",
        text=new.message,
        url=f"/runs/{run.id}",
        score=1.0,
        engine=new.engine,
        user=run.plan.owner,
        time=run.updated,
        tc=run.plan.tc,
        commit=new.commit,
    )


# Notifications. The channels are added before the first run, so that there is something to notify
# of.


async def open_channels(opened: Database) -> None:
    """Add a mail address and a webhook for each of them, for all kinds of notifications."""
    channels, now = Channels(opened.pool, opened.queries), opened.accounts.clock.now()
    for user in TOLD:
        for form, address in ((ChannelForm.MAIL, ""), (ChannelForm.DISCORD, _hook_of(user))):
            await channels.add(_make_channel(user, form, address, now))


def _hook_of(user: str) -> str:
    return f"https://hooks.example.org/{user}"


def _make_channel(user: str, form: ChannelForm, address: str, now: datetime) -> NotificationChannel:
    every = frozenset(NotificationKind)
    return NotificationChannel(0, user, form, address, "", every, True, now, 0, now)


async def tell_all(opened: Database, runs: list[Run]) -> None:
    """Write the log of notifications as if they had been sent, and switch the webhooks off. Nothing
    is left for a server to send."""
    subscriptions = Subscriptions(opened.pool, opened.queries)
    for run in runs[-FOLLOWED_RUNS:]:
        await subscriptions.put(run.id, TOLD[0], following=True)
    outbox, now = Outbox(opened.pool, opened.queries), opened.accounts.clock.now()
    while await outbox.spread(AT_A_TIME):
        pass
    while batches := await outbox.due(now, AT_A_TIME, AT_A_TIME):
        for batch in batches:
            for number, delivery in enumerate(batch.deliveries):
                at = min(delivery.told.at + timedelta(seconds=4), now)
                failed = batch.channel.form is not ChannelForm.MAIL and number % 9 == 4
                state = DeliveryState.FAILED if failed else DeliveryState.SENT
                await outbox.end([delivery.id], state, "answered 503" if failed else "", at)
    channels = Channels(opened.pool, opened.queries)
    for user in TOLD:
        for channel in await channels.of(user):
            if channel.form is not ChannelForm.MAIL:
                await channels.change(replace(channel, active=False))
