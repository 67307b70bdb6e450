"""Uploaded games are looked over without being trusted."""

import contextlib
import gzip
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.protocol import games
from rookery.core.protocol.games import (
    BrokenGames,
    Ending,
    Outcome,
    parse_game_text,
    read_first_games,
    read_game,
    read_score,
    scan_games,
)

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
    (game,) = scan_games(pack(text("0-1", Termination="time forfeit", PlyCount="97")))
    assert (game.outcome, game.ending) == (Outcome.BLACK, Ending.TIME_FORFEIT)
    assert (game.plies, game.new_is_white, game.offset) == (97, True, 0)


def test_moves_are_counted_where_the_text_does_not_say() -> None:
    moves = "1. e4 {a comment with Nf3 in it} e5 2. O-O Qxd4+ 3. exd8=Q# *"
    (game,) = scan_games(pack(text("*", moves=moves)))
    assert (game.plies, game.outcome, game.ending) == (5, Outcome.OPEN, Ending.UNSAID)


def test_games_come_in_order_each_with_its_place() -> None:
    first = text("1-0")
    found = scan_games(pack(first, text("1/2-1/2", White="Base-bb"), text("0-1")))
    assert [game.outcome for game in found] == [Outcome.WHITE, Outcome.DRAW, Outcome.BLACK]
    assert found[1].offset == len(first)
    assert not found[1].new_is_white


def test_equal_openings_have_equal_digests() -> None:
    counted_on = FEN.replace("0 2", "3 9")
    same, again, other = scan_games(pack(text(FEN=FEN), text(FEN=counted_on), text()))
    assert same.opening == again.opening != other.opening
    (late,) = scan_games(pack(text(moves="1. e4 e5 2. Nf3 Nc6 1/2-1/2")))
    assert late.opening == other.opening


def test_a_comment_without_an_end_hides_the_moves_behind_it() -> None:
    (game,) = scan_games(pack(text("*", moves="1. e4 {why not d4 { e5 2. Nf3")))
    assert game.plies == 1


@pytest.mark.parametrize("missing", [1, 8, 9, 100])
def test_a_stream_that_breaks_off_is_refused(missing: int) -> None:
    packed = pack(*[text(Event=str(number)) for number in range(500)])
    with pytest.raises(BrokenGames, match="breaks off"):
        scan_games(packed[:-missing])


def test_a_stream_with_something_behind_it_is_refused() -> None:
    for size in (10, games.PACKED_PIECE, 2 * games.PACKED_PIECE):
        noise = random.Random(size).randbytes(size // 2).hex()
        packed = pack(text(White=noise))
        with pytest.raises(BrokenGames, match="follows"):
            scan_games(packed + packed)


def test_what_follows_is_seen_also_where_the_stream_ends_with_a_piece() -> None:
    packed = pack(text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(games, "PACKED_PIECE", len(packed))
        with pytest.raises(BrokenGames, match="follows"):
            scan_games(packed + b"\0")


def test_a_damaged_stream_is_refused() -> None:
    packed = bytearray(pack(text()))
    packed[-6] ^= 1
    with pytest.raises(BrokenGames, match="damaged"):
        scan_games(bytes(packed))


def test_a_game_without_an_end_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "MOST_GAME", 10_000)
    monkeypatch.setattr(games, "PIECE", 1_000)
    assert scan_games(pack(text(), text(moves="x" * 50_000), text()))[1:] == ()


def test_a_bomb_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "MOST_TEXT", 2**20)
    with pytest.raises(BrokenGames, match="more than"):
        scan_games(gzip.compress(b"\0" * 2**24))


def test_windows_ends_of_lines_do_no_harm() -> None:
    (game,) = scan_games(gzip.compress(text(PlyCount="4").replace("\n", "\r\n").encode()))
    assert (game.plies, game.outcome) == (4, Outcome.WHITE)


@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_break_it(data: bytes, packed: bool) -> None:
    with contextlib.suppress(BrokenGames):
        scan_games(gzip.compress(b"[Event " + data, 1) if packed else b"\x1f\x8b" + data)


def test_one_game_is_read_from_its_place_however_the_stream_is_cut() -> None:
    texts = [text("1-0"), text("0-1", FEN=FEN), text("1/2-1/2")]
    packed = pack(*texts)
    pieces = [packed[at : at + 7] for at in range(0, len(packed), 7)]
    for game, wanted in zip(scan_games(packed), texts, strict=True):
        assert read_game(iter(pieces), game.offset).strip() == wanted.strip()
    assert len(read_first_games(iter([packed]), 2)) == 2


def test_a_games_moves_are_told_with_what_the_runner_wrote() -> None:
    game = parse_game_text(text(FEN=FEN.replace(" w ", " b ")))
    assert [move.san for move in game.moves] == ["e4", "e5", "Nf3", "Nc6"]
    assert game.moves[0].comment == "+0.3/12 0.1s"
    assert (game.white_begins, game.first_number) == (False, 2)
    assert parse_game_text("no game at all {").moves == ()


@pytest.mark.parametrize(
    ("comment", "score"),
    [
        ("+0.35/14 0.22s", 0.35),
        ("-1.5/9 0.1s 12n", -1.5),
        ("0.00/1", 0.0),
        ("+M12/30 1.0s", math.inf),
        ("-#3/8", -math.inf),
        ("0.220s", None),
        ("book", None),
        ("+0.3", None),
        ("", None),
    ],
)
def test_a_score_is_read_where_an_engine_said_one(comment: str, score: float | None) -> None:
    assert read_score(comment) == score
