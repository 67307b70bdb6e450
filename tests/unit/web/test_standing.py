"""Whether a signed-in visitor still may be."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rookery.service.users import User
from rookery.storage.memory import MemoryUsers
from rookery.web.standing import Standing
from tests.unit.web.fakes import HandClock

pytestmark = pytest.mark.anyio

ADA = User("ada", "a@b.c", "hash", frozenset(), False, False, 16, datetime(2030, 1, 1, tzinfo=UTC))


class Book(MemoryUsers):
    """Counts how often it is asked."""

    looks = 0

    async def by_name(self, name: str) -> User | None:
        self.looks += 1
        return await super().by_name(name)


@pytest.fixture
def book() -> Book:
    return Book(ADA)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def standing(book: Book, clock: HandClock) -> Standing:
    return Standing(book, clock, lambda: b"key")


async def test_a_known_user_holds_and_is_looked_up_once_in_two_seconds(
    standing: Standing, book: Book, clock: HandClock
) -> None:
    for _ in range(3):
        assert await standing.holds("ada", standing.mark(ADA))
    clock.move(seconds=2)
    assert await standing.holds("ada", standing.mark(ADA))
    assert book.looks == 2


async def test_a_blocked_user_falls_after_two_seconds_at_most(
    standing: Standing, book: Book, clock: HandClock
) -> None:
    assert await standing.holds("ada", standing.mark(ADA))
    await book.save(replace(ADA, blocked=True))
    clock.move(seconds=2)
    assert not await standing.holds("ada", standing.mark(ADA))


async def test_a_changed_user_falls_at_once_when_told(standing: Standing, book: Book) -> None:
    assert await standing.holds("ada", standing.mark(ADA))
    await book.save(replace(ADA, password_hash="new"))
    standing.forget("ada")
    assert not await standing.holds("ada", standing.mark(ADA))


async def test_an_unknown_user_never_holds(standing: Standing) -> None:
    assert not await standing.holds("bob", "")
