"""Conversations with Ask: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec.structs import replace

from rookery.core.protocol.ask import ChatMessage, ChatSession
from rookery.server.ask.passages import FoundPassage, PassageKind
from rookery.server.ask.sessions import ChatRows
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.identity.users import Users
from tests.database import pool_on
from tests.people import OLGA, SVEN
from tests.twins.chats import MemoryChats

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TALK = ChatSession(
    id="1" * 32,
    title="Razoring",
    created=NOON,
    touched=NOON,
    archived=False,
    temporary=True,
    messages=0,
)
FOUND = FoundPassage(
    id="run:1", kind=PassageKind.RUN, title="Razor", text="", url="/runs/1", score=1.5, engine="owl"
)
ASKED = ChatMessage(role="user", text="Was razoring tried? \0", at=NOON)
TOLD = ChatMessage(role="assistant", text="Yes [1].", at=NOON, sources=(FOUND,))


@pytest.fixture(params=["memory", "postgres"])
async def rows(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[ChatRows]:
    if request.param == "memory":
        yield MemoryChats()
        return
    async with pool_on(database) as pool:
        users = Users(pool, queries)
        for user in (OLGA, SVEN):
            await users.add(user)
        yield ChatRows(pool, queries)


async def remember(
    rows: ChatRows, session: ChatSession, user: str = "olga", *, begin: bool = True, most: int = 9
) -> bool:
    return await rows.remember(
        session, user, (ASKED, TOLD), most_sessions=5 if begin else 0, most_messages=most
    )


async def test_a_question_and_its_answer_come_back_in_order(rows: ChatRows) -> None:
    assert await remember(rows, TALK)
    asked, told = await rows.messages(TALK.id, 10)
    assert (asked.role, asked.text.rstrip("\0\ufffd"), told) == (
        "user",
        "Was razoring tried? ",
        TOLD,
    )
    assert await rows.get(TALK.id, "olga") == replace(TALK, messages=2)


async def test_another_user_finds_changes_and_removes_nothing(rows: ChatRows) -> None:
    await remember(rows, TALK)
    assert await rows.get(TALK.id, "sven") is None
    assert await rows.of("sven", archived=None) == ()
    assert not await rows.change(TALK.id, "sven", "Mine", None)
    assert not await rows.touch(TALK.id, "sven", NOON)
    assert not await rows.clear(TALK.id, "sven", NOON)
    assert not await rows.remove(TALK.id, "sven")
    assert not await remember(rows, TALK, "sven", begin=False)
    assert len(await rows.messages(TALK.id, 10)) == 2


async def test_an_answer_touches_its_conversation(rows: ChatRows) -> None:
    await rows.add(TALK, "olga", 5)
    later = NOON + timedelta(hours=1)
    await remember(rows, replace(TALK, touched=later), begin=False)
    found = await rows.get(TALK.id, "olga")
    assert found
    assert (found.touched, found.messages) == (later, 2)


async def test_messages_beyond_the_most_are_forgotten_oldest_first(rows: ChatRows) -> None:
    await remember(rows, TALK)
    await remember(rows, TALK, begin=False, most=3)
    assert [each.role for each in await rows.messages(TALK.id, 10)] == [
        "assistant",
        "user",
        "assistant",
    ]


async def test_clearing_forgets_the_messages_and_keeps_the_conversation(rows: ChatRows) -> None:
    await remember(rows, TALK)
    assert await rows.clear(TALK.id, "olga", NOON)
    assert await rows.messages(TALK.id, 10) == ()
    assert await rows.get(TALK.id, "olga")


async def test_a_conversation_that_was_deleted_meanwhile_is_not_begun_again(rows: ChatRows) -> None:
    await rows.add(TALK, "olga", 5)
    await rows.remove(TALK.id, "olga")
    assert not await remember(rows, TALK, begin=False)


async def test_a_title_makes_a_conversation_last(rows: ChatRows) -> None:
    await rows.add(TALK, "olga", 5)
    await rows.change(TALK.id, "olga", None, True)
    assert await rows.of("olga") == ()
    await rows.change(TALK.id, "olga", "Margins", None)
    (found,) = await rows.of("olga", archived=True)
    assert (found.title, found.temporary, found.archived) == ("Margins", False, True)


async def test_the_least_used_temporary_conversation_makes_room(rows: ChatRows) -> None:
    lasting = replace(TALK, id="2" * 32, temporary=False)
    newer = replace(TALK, id="3" * 32, touched=NOON + timedelta(hours=1))
    newest = replace(TALK, id="4" * 32, touched=NOON + timedelta(hours=2), temporary=False)
    for session in (TALK, lasting, newer, newest):
        assert await rows.add(session, "olga", 3)
    assert {each.id for each in await rows.of("olga")} == {lasting.id, newer.id, newest.id}
    assert await rows.add(replace(lasting, id="5" * 32), "olga", 3)
    assert not await rows.add(replace(lasting, id="6" * 32), "olga", 3)


async def test_what_nobody_has_used_is_swept(rows: ChatRows) -> None:
    lasting = replace(TALK, id="2" * 32, temporary=False)
    for session in (TALK, lasting):
        await rows.add(session, "olga", 5)
    later = NOON + timedelta(hours=1)
    assert await rows.sweep(later, None, 10) == 1
    assert [each.id for each in await rows.of("olga")] == [lasting.id]
    assert await rows.sweep(later, later, 10) == 1


async def test_questions_to_a_model_are_counted_by_day(rows: ChatRows) -> None:
    today = date(2026, 3, 1)
    assert [await rows.count_use("olga", today, 2) for _ in range(3)] == [True, True, False]
    assert await rows.count_use("olga", today + timedelta(days=1), 2)
    await rows.forget_uses(today + timedelta(days=1))
    assert await rows.count_use("olga", today, 2)
