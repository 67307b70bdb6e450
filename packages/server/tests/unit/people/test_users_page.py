"""Tokens: what is made, and what is kept of it."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from rookery.core.protocol.people import TokenScope
from rookery.server.identity.users import ORDINARY, Malformed, Scope, digest_of, mint
from tests.people import counting

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WORKER = frozenset({Scope.WORKER})


def test_a_token_is_told_apart_by_its_prefix() -> None:
    assert mint("olga", ORDINARY, now=NOW, chance=counting()).secret.startswith("rk_")
    assert mint("olga", WORKER, now=NOW, chance=counting()).secret.startswith("rkw_")


def test_of_a_secret_only_the_digest_is_kept() -> None:
    minted = mint("olga", ORDINARY, now=NOW, chance=counting())
    assert minted.token.digest == digest_of(minted.secret)
    assert minted.secret not in repr(minted.token)


def test_a_secret_holds_256_random_bits() -> None:
    secret = mint("olga", ORDINARY, now=NOW, chance=counting()).secret.removeprefix("rk_")
    assert len(secret) * 5 >= 256
    assert secret.isalnum()


def test_a_token_for_workers_is_for_nothing_else() -> None:
    with pytest.raises(Malformed):
        mint("olga", WORKER | {Scope.READ}, now=NOW, chance=counting())


def test_a_token_ends_when_it_expires() -> None:
    until = NOW + timedelta(days=1)
    token = mint("olga", ORDINARY, now=NOW, chance=counting(), expires=until).token
    assert token.is_valid(until - timedelta(seconds=1))
    assert not token.is_valid(until)


def test_the_api_names_every_scope() -> None:
    assert list(get_args(TokenScope)) == [scope.value for scope in Scope]
