"""The session cookie: only ours is believed, and it always fits."""

import pytest

from rookery.web.session import (
    MOST_BYTES,
    CookieRefused,
    CookieSigner,
    Flash,
    SessionData,
    cookie_in,
    set_cookie,
)
from tests.fakes import HandClock

ADA = SessionData(user="ada", mark="0123", csrf="abc")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def seal(clock: HandClock) -> CookieSigner:
    return CookieSigner(lambda: (b"key",), clock)


def test_what_was_sealed_comes_back(seal: CookieSigner) -> None:
    assert seal.open(seal.close(ADA)).data == ADA


@pytest.mark.parametrize("change", [0, 5, -1])
def test_a_changed_character_anywhere_is_noticed(seal: CookieSigner, change: int) -> None:
    letters = list(seal.close(ADA))
    letters[change] = "A" if letters[change] != "A" else "B"
    with pytest.raises(CookieRefused):
        seal.open("".join(letters))


@pytest.mark.parametrize("junk", ["", ".", "a.b.c", "é" * 30, "\0", "a" * 100_000, "===.=.="])
def test_junk_is_refused_and_nothing_else_happens(seal: CookieSigner, junk: str) -> None:
    with pytest.raises(CookieRefused):
        seal.open(junk)


def test_another_servers_cookie_is_refused(seal: CookieSigner, clock: HandClock) -> None:
    with pytest.raises(CookieRefused):
        seal.open(CookieSigner(lambda: (b"other",), clock).close(ADA))


def test_an_old_key_still_opens_and_the_new_one_signs(clock: HandClock) -> None:
    keys = [b"old"]
    seal, new = CookieSigner(lambda: tuple(keys), clock), CookieSigner(lambda: (b"new",), clock)
    before = seal.close(ADA)
    keys.append(b"new")
    assert seal.open(before).data == ADA
    assert new.open(seal.close(ADA)).data == ADA


def test_a_session_that_is_not_kept_ends_after_a_week(seal: CookieSigner, clock: HandClock) -> None:
    cookie = seal.close(ADA)
    clock.move(days=8)
    with pytest.raises(CookieRefused, match="expired"):
        seal.open(cookie)


def test_a_kept_session_lasts_four_hundred_days(seal: CookieSigner, clock: HandClock) -> None:
    cookie = seal.close(SessionData(user="ada", keep=True))
    clock.move(days=399)
    assert seal.open(cookie).data.user == "ada"
    clock.move(days=2)
    with pytest.raises(CookieRefused, match="expired"):
        seal.open(cookie)


def test_a_cookie_in_use_is_renewed_once_a_day(seal: CookieSigner, clock: HandClock) -> None:
    cookie = seal.close(ADA)
    assert not seal.open(cookie).renew
    clock.move(hours=25)
    assert seal.open(cookie).renew


def test_the_oldest_messages_go_when_the_cookie_grows_too_large(seal: CookieSigner) -> None:
    flashes = tuple(Flash(str(number) * 900) for number in range(5))
    cookie = seal.close_within(SessionData(user="ada", flashes=flashes))
    assert cookie is not None
    assert len(cookie) <= MOST_BYTES
    kept = seal.open(cookie).data
    assert kept.user == "ada"
    assert kept.flashes == flashes[-len(kept.flashes) :]
    assert 0 < len(kept.flashes) < 5


def test_a_session_that_can_never_fit_gives_no_cookie(seal: CookieSigner) -> None:
    assert seal.close_within(SessionData(user="a" * 4000)) is None


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("rookery_session=x", "x"),
        ("a=1; rookery_session=x=y; b=2", "x=y"),
        ("rookery_session=first; rookery_session=second", "first"),
        ("xrookery_session=x", None),
        ("rookery_session", None),
        ("", None),
    ],
)
def test_the_cookie_is_found_in_its_header(header: str, value: str | None) -> None:
    assert cookie_in(header) == value


def test_scripts_and_other_sites_never_see_the_cookie() -> None:
    text = set_cookie("x", max_age=60, secure=True).decode()
    assert text == "rookery_session=x; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure"
