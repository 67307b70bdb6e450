"""The session of one request, its cookie, and whether its user still may be signed in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rookery.server.http.session import (
    MOST_BYTES,
    MOST_FLASHES,
    NOTHING,
    CookieRefused,
    CookieSigner,
    Flash,
    LoggedOutSessions,
    Session,
    SessionCheck,
    SessionData,
    cookie_in,
    mask_token,
    session_digest,
    set_cookie,
)
from rookery.server.identity.users import User
from tests.fakes import HandClock
from tests.twins.people import MemoryEndedSessions, MemoryUsers

pytestmark = pytest.mark.anyio


def session_with(data: SessionData) -> Session:
    return Session(lambda: data)


def test_the_cookie_is_not_read_before_somebody_asks() -> None:
    session = Session(lambda: 1 / 0)  # type: ignore[arg-type,return-value]  # must not be called
    assert not session.touched
    assert not session.changed


def test_reading_changes_nothing() -> None:
    session = session_with(SessionData(user="ada"))
    assert session.user == "ada"
    assert session.touched
    assert not session.changed


def test_signing_in_makes_a_new_token_and_keeps_messages() -> None:
    flash = Flash("hello")
    session = session_with(SessionData(csrf="old", flashes=(flash,)))
    session.sign_in("ada", "mark", keep=True)
    assert session.user == "ada"
    assert session.data.csrf not in {"", "old"}
    assert session.data.flashes == (flash,)


def test_signing_out_keeps_only_messages() -> None:
    session = session_with(SessionData(user="ada", mark="m", csrf="c", keep=True))
    session.sign_out()
    assert session.data == NOTHING


def test_dropping_a_session_removes_the_cookie() -> None:
    session = session_with(SessionData(user="ada"))
    session.drop()
    assert session.force_clear
    assert session.data == NOTHING


def test_the_token_is_made_once_and_looks_different_in_every_answer() -> None:
    session = Session.empty()
    first, second = session.csrf_token(), session.csrf_token()
    assert first != second
    assert session.accepts(first)
    assert session.accepts(second)
    assert session.data.csrf not in first


def test_no_token_is_ever_right_while_there_is_none() -> None:
    assert not Session.empty().accepts("")


def test_a_foreign_token_is_refused_whatever_it_is_made_of() -> None:
    session = session_with(SessionData(csrf="abc"))
    assert not session.accepts("abd")
    assert not session.accepts(mask_token("abd"))
    assert not session.accepts("00" * 3)
    assert not session.accepts("é")


def test_messages_are_shown_once() -> None:
    session = session_with(SessionData(flashes=(Flash("hello"),)))
    assert session.take_flashes() == (Flash("hello"),)
    assert session.take_flashes() == ()
    assert session.changed


def test_only_the_latest_messages_are_kept() -> None:
    session = Session.empty()
    for number in range(MOST_FLASHES + 2):
        session.flash(str(number))
    assert [flash.text for flash in session.data.flashes] == ["2", "3", "4", "5", "6"]


SESSION = SessionData(user="ada", mark="0123", csrf="abc")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def seal(clock: HandClock) -> CookieSigner:
    return CookieSigner(lambda: (b"key",), clock)


def test_what_was_sealed_comes_back(seal: CookieSigner) -> None:
    assert seal.open(seal.close(SESSION)).data == SESSION


@pytest.mark.parametrize("change", [0, 5, -1])
def test_a_changed_character_anywhere_is_noticed(seal: CookieSigner, change: int) -> None:
    letters = list(seal.close(SESSION))
    letters[change] = "A" if letters[change] != "A" else "B"
    with pytest.raises(CookieRefused):
        seal.open("".join(letters))


@pytest.mark.parametrize("junk", ["", ".", "a.b.c", "é" * 30, "\0", "a" * 100_000, "===.=.="])
def test_junk_is_refused_and_nothing_else_happens(seal: CookieSigner, junk: str) -> None:
    with pytest.raises(CookieRefused):
        seal.open(junk)


def test_another_servers_cookie_is_refused(seal: CookieSigner, clock: HandClock) -> None:
    with pytest.raises(CookieRefused):
        seal.open(CookieSigner(lambda: (b"other",), clock).close(SESSION))


def test_an_old_key_still_opens_and_the_new_one_signs(clock: HandClock) -> None:
    keys = [b"old"]
    seal, new = CookieSigner(lambda: tuple(keys), clock), CookieSigner(lambda: (b"new",), clock)
    before = seal.close(SESSION)
    keys.append(b"new")
    assert seal.open(before).data == SESSION
    assert new.open(seal.close(SESSION)).data == SESSION


def test_a_session_that_is_not_kept_ends_after_a_week(seal: CookieSigner, clock: HandClock) -> None:
    cookie = seal.close(SESSION)
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
    cookie = seal.close(SESSION)
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


ADA = User("ada", "a@b.c", "hash", frozenset(), False, False, 16, datetime(2030, 1, 1, tzinfo=UTC))


class CountedUsers(MemoryUsers):
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
def users() -> CountedUsers:
    return CountedUsers(ADA)


@pytest.fixture
def check(users: CountedUsers, clock: HandClock) -> SessionCheck:
    return SessionCheck(users, LoggedOutSessions(Sessions(), clock), clock, lambda: b"key")


def session(check: SessionCheck, token: str = "a token") -> SessionData:
    return SessionData("ada", check.mark(ADA), token)


async def test_a_known_user_holds_and_is_looked_up_once_in_two_seconds(
    check: SessionCheck, users: CountedUsers, clock: HandClock
) -> None:
    for _ in range(3):
        assert await check.holds(session(check))
    clock.move(seconds=2)
    assert await check.holds(session(check))
    assert users.looks == 2


async def test_a_blocked_user_falls_after_two_seconds_at_most(
    check: SessionCheck, users: CountedUsers, clock: HandClock
) -> None:
    assert await check.holds(session(check))
    await users.save(replace(ADA, blocked=True))
    clock.move(seconds=2)
    assert not await check.holds(session(check))


async def test_a_changed_user_falls_at_once_when_told(
    check: SessionCheck, users: CountedUsers
) -> None:
    assert await check.holds(session(check))
    await users.save(replace(ADA, password_hash="new"))
    check.forget("ada")
    assert not await check.holds(session(check))


async def test_an_unknown_user_never_holds(check: SessionCheck) -> None:
    assert not await check.holds(SessionData(user="bob"))


async def test_a_session_that_was_logged_out_of_counts_no_longer(check: SessionCheck) -> None:
    assert await check.holds(session(check))
    await check.ended.end(session(check), timedelta(days=7))
    assert not await check.holds(session(check))
    assert await check.holds(session(check, "another token"))


async def test_a_logout_elsewhere_counts_as_soon_as_it_is_told(check: SessionCheck) -> None:
    assert await check.holds(session(check))
    check.ended.told(session_digest(session(check)).hex())
    assert not await check.holds(session(check))


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
