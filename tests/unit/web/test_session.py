"""The session of one request."""

from rookery.web.session import MOST_FLASHES, NOTHING, Flash, Session, SessionData


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


def test_the_token_is_made_once() -> None:
    session = Session.empty()
    token = session.csrf_token()
    assert session.csrf_token() == token
    assert session.accepts(token)


def test_no_token_is_ever_right_while_there_is_none() -> None:
    assert not Session.empty().accepts("")


def test_a_foreign_token_is_refused_whatever_it_is_made_of() -> None:
    session = session_with(SessionData(csrf="abc"))
    assert not session.accepts("abd")
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
