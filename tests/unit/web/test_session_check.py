"""Whether a signed-in visitor still may be."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rookery.people.users import User
from rookery.web.session import LoggedOutSessions, SessionCheck, SessionData, session_digest
from tests.fakes import HandClock
from tests.twins.people import MemoryEndedSessions, MemoryUsers

pytestmark = pytest.mark.anyio

ADA = User("ada", "a@b.c", "hash", frozenset(), False, False, 16, datetime(2030, 1, 1, tzinfo=UTC))


class Book(MemoryUsers):
    """Counts how often it is asked."""

    looks = 0

    async def by_name(self, name: str) -> User | None:
        self.looks += 1
        return await super().by_name(name)


class Sessions(MemoryEndedSessions):
    """Likewise."""

    looks = 0

    async def all(self) -> frozenset[bytes]:
        self.looks += 1
        return await super().all()


@pytest.fixture
def book() -> Book:
    return Book(ADA)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def standing(book: Book, clock: HandClock) -> SessionCheck:
    return SessionCheck(book, LoggedOutSessions(Sessions(), clock), clock, lambda: b"key")


def session(standing: SessionCheck, token: str = "a token") -> SessionData:
    return SessionData("ada", standing.mark(ADA), token)


async def test_a_known_user_holds_and_is_looked_up_once_in_two_seconds(
    standing: SessionCheck, book: Book, clock: HandClock
) -> None:
    for _ in range(3):
        assert await standing.holds(session(standing))
    clock.move(seconds=2)
    assert await standing.holds(session(standing))
    assert book.looks == 2


async def test_a_blocked_user_falls_after_two_seconds_at_most(
    standing: SessionCheck, book: Book, clock: HandClock
) -> None:
    assert await standing.holds(session(standing))
    await book.save(replace(ADA, blocked=True))
    clock.move(seconds=2)
    assert not await standing.holds(session(standing))


async def test_a_changed_user_falls_at_once_when_told(standing: SessionCheck, book: Book) -> None:
    assert await standing.holds(session(standing))
    await book.save(replace(ADA, password_hash="new"))
    standing.forget("ada")
    assert not await standing.holds(session(standing))


async def test_an_unknown_user_never_holds(standing: SessionCheck) -> None:
    assert not await standing.holds(SessionData(user="bob"))


async def test_a_session_that_was_logged_out_of_counts_no_longer(standing: SessionCheck) -> None:
    assert await standing.holds(session(standing))
    await standing.ended.end(session(standing), timedelta(days=7))
    assert not await standing.holds(session(standing))
    assert await standing.holds(session(standing, "another token"))


async def test_a_logout_elsewhere_counts_as_soon_as_it_is_told(standing: SessionCheck) -> None:
    assert await standing.holds(session(standing))
    standing.ended.told(session_digest(session(standing)).hex())
    assert not await standing.holds(session(standing))


async def test_ended_sessions_are_read_once_and_again_when_some_were_missed(
    clock: HandClock,
) -> None:
    rows = Sessions()
    ended, other = LoggedOutSessions(rows, clock), LoggedOutSessions(rows, clock)
    for _ in range(3):
        assert not await ended.holds(SessionData("ada"))
    assert rows.looks == 1
    await other.end(SessionData("ada"), timedelta(days=7))
    assert not await ended.holds(SessionData("ada"))
    ended.missed()
    assert await ended.holds(SessionData("ada"))
    assert rows.looks == 2
