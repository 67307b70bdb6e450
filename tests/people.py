"""Named people for tests, and deterministic random bytes."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from rookery.server.identity.users import APPROVERS, Chance, User
from tests.fakes import START

OLGA = User(
    name="olga",
    email="olga@example.org",
    password_hash="$argon2id$not-a-hash",
    groups=frozenset(),
    blocked=False,
    pending=False,
    machine_limit=16,
    created=datetime(2026, 1, 1, tzinfo=UTC),
)
BORIS = replace(OLGA, name="boris", email="boris@example.org", groups=frozenset({APPROVERS}))
SVEN = replace(OLGA, name="sven", email="sven@example.org")


def counting() -> Chance:
    """Random bytes that differ at each call but are the same in each test."""
    numbers: Iterator[int] = iter(range(1, 256))
    return lambda size: bytes([next(numbers)]) * size


def make_ada(password: str = "right", **fields: object) -> User:
    """A user whose stored hash is the password itself, for checks that hash nothing."""
    user = User("ada", "a@example.org", password, frozenset(), False, False, 16, START)
    return replace(user, **fields)  # type: ignore[arg-type]  # tests name the fields they need
