"""Uploaded games are looked over without being trusted."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.protocol import games
from rookery.protocol.games import Ending, Outcome, scanned

FEN = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"


def text(
    result: str = "1-0", *, moves: str = "1. e4 {+0.3/12 0.1s} e5 2. Nf3 Nc6 1-0", **tags: str
) -> str:
    named = {"White": "New-aa", "Black": "Base-bb", "Result": result} | tags
    head = "".join(f'[{name} "{value}"]\n' for name, value in named.items())
    return f'[Event "x"]\n{head}\n{moves}\n\n'


def pack(*parts: str) -> bytes:
    return gzip.compress("".join(parts).encode())


def test_a_game_tells_how_it_ended_and_how_long_it_was() -> None:
    (game,) = scanned(pack(text("0-1", Termination="time forfeit", PlyCount="97")))
    assert (game.outcome, game.ending) == (Outcome.BLACK, Ending.TIME_FORFEIT)
    assert (game.plies, game.new_is_white, game.offset) == (97, True, 0)


def test_moves_are_counted_where_the_text_does_not_say() -> None:
    moves = "1. e4 {a comment with Nf3 in it} e5 2. O-O Qxd4+ 3. exd8=Q# *"
    (game,) = scanned(pack(text("*", moves=moves)))
    assert (game.plies, game.outcome, game.ending) == (5, Outcome.OPEN, Ending.UNSAID)


def test_games_come_in_order_each_with_its_place() -> None:
    first = text("1-0")
    found = scanned(pack(first, text("1/2-1/2", White="Base-bb"), text("0-1")))
    assert [game.outcome for game in found] == [Outcome.WHITE, Outcome.DRAW, Outcome.BLACK]
    assert found[1].offset == len(first)
    assert not found[1].new_is_white


def test_equal_openings_have_equal_digests() -> None:
    counted_on = FEN.replace("0 2", "3 9")
    same, again, other = scanned(pack(text(FEN=FEN), text(FEN=counted_on), text()))
    assert same.opening == again.opening != other.opening
    (late,) = scanned(pack(text(moves="1. e4 e5 2. Nf3 Nc6 1/2-1/2")))
    assert late.opening == other.opening


def test_a_stream_that_breaks_off_gives_what_came_before() -> None:
    packed = pack(*[text(Event=str(number)) for number in range(500)])
    assert 0 < len(scanned(packed[: len(packed) // 2])) < 500


def test_a_game_without_an_end_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "MOST_GAME", 10_000)
    monkeypatch.setattr(games, "PIECE", 1_000)
    assert scanned(pack(text(), text(moves="x" * 50_000), text()))[1:] == ()


def test_a_bomb_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "MOST_TEXT", 2**20)
    assert scanned(gzip.compress(b"\0" * 2**24)) == ()


def test_windows_ends_of_lines_do_no_harm() -> None:
    (game,) = scanned(gzip.compress(text(PlyCount="4").replace("\n", "\r\n").encode()))
    assert (game.plies, game.outcome) == (4, Outcome.WHITE)


@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_break_it(data: bytes, packed: bool) -> None:
    scanned(gzip.compress(b"[Event " + data, 1) if packed else b"\x1f\x8b" + data)
