"""Books are read as fastchess reads them, and what is wrong in them is named."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from rookery.match.openings import BookFault, BookFormat, Opening, OpeningBook, book_sri

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
KINGS = "4k3/8/8/8/8/8/4P3/4K3 w - -"


def epd(*lines: str, name: str = "book.epd") -> OpeningBook:
    return OpeningBook.parse(name, BookFormat.EPD, "\n".join(lines).encode())


@pytest.mark.parametrize(
    ("line", "fen"),
    [
        (KINGS, f"{KINGS} 0 1"),
        (f"{KINGS} 3 17", f"{KINGS} 3 17"),
        (f"{KINGS} hmvc 3; fmvn 17;", f"{KINGS} 3 17"),
        (f'{KINGS} fmvn 17; id "a 4 6 position";', f"{KINGS} 0 17"),
        (f"{KINGS} bm e4;", f"{KINGS} 0 1"),
        (f"{KINGS} c9 text", f"{KINGS} 0 1"),
        (f"\ufeff{KINGS}", f"{KINGS} 0 1"),
    ],
)
def test_counters_and_operations_are_understood(line: str, fen: str) -> None:
    assert epd(line)[0] == Opening(fen)


def test_every_line_that_is_not_empty_is_an_opening() -> None:
    book = epd(KINGS, "", START, "", "")
    assert [opening.fen for opening in (book[0], book[1])] == [f"{KINGS} 0 1", f"{START} 0 1"]
    assert len(book) == 2


def test_a_bad_line_keeps_its_place_and_is_named() -> None:
    book = epd(KINGS, "", "nonsense", START)
    assert book[2].fen == f"{START} 0 1"
    with pytest.raises(BookFault, match=r"line 3 of the book book.epd .*: nonsense"):
        book[1]


def test_an_impossible_position_is_bad() -> None:
    book = epd(KINGS, "4k3/8/8/8/8/8/4P3/8 w - -")
    with pytest.raises(BookFault, match=r"line 2 .*the position is impossible"):
        book[1]


@pytest.mark.parametrize("name", ["UHO_FRC_v1.epd", "chess960.epd"])
def test_the_name_of_a_book_asks_for_fischer_random(name: str) -> None:
    shredder = "nrkbbqrn/pppppppp/8/8/8/8/PPPPPPPP/NRKBBQRN w GBgb -"
    assert epd(shredder, name=name)[0].fen == f"{shredder} 0 1"
    assert not epd(shredder).is_chess960


def test_the_sri_is_that_of_the_text_with_line_feeds() -> None:
    # echo -en 'a\nb\n' | openssl dgst -sha384 -binary | base64
    known = "m1mlrnn4Au7t7MH3eO/F+PB9rUGFYYU9rqMaVMC0CQe0pWKn2+xeU9u7qL2JlKDL"
    assert [book_sri(text) for text in (b"a\nb\n", b"a\r\nb\r\n", b"a\rb\r")] == [known] * 3


def test_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "unix.epd").write_bytes(f"{KINGS}\n{START}\n".encode())
    (tmp_path / "windows.epd").write_bytes(f"{KINGS}\r\n{START}\r\n".encode())
    unix, windows = (OpeningBook.load(tmp_path / f"{name}.epd") for name in ("unix", "windows"))
    assert (unix.sri, unix[1]) == (windows.sri, windows[1])


def packed(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as pack:
        for name, text in members.items():
            pack.writestr(name.replace("_", "."), text)
    return buffer.getvalue()


def test_packed_books_read_like_plain_ones(tmp_path: Path) -> None:
    (tmp_path / "book.epd.gz").write_bytes(gzip.compress(KINGS.encode()))
    (tmp_path / "book.epd.zip").write_bytes(packed(readme_txt="hello", book_epd=KINGS))
    for name in ("book.epd.gz", "book.epd.zip"):
        assert OpeningBook.load(tmp_path / name)[0] == Opening(f"{KINGS} 0 1")


def test_of_several_packed_books_the_one_with_the_name_is_read(tmp_path: Path) -> None:
    (tmp_path / "book.zip").write_bytes(packed(another_epd=START, book_epd=KINGS))
    assert OpeningBook.load(tmp_path / "book.zip")[0] == Opening(f"{KINGS} 0 1")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("book.bin", b"x", "neither .epd nor .pgn"),
        ("book.zip", packed(readme_txt="hello"), "neither .epd nor .pgn"),
        ("book.zip", b"no zip", "can't be read"),
        ("book.epd.gz", b"no gzip", "can't be read"),
        ("book.epd", b"\n\n", "has no openings"),
        ("book.pgn", b" \n", "has no openings"),
    ],
)
def test_a_file_that_is_no_book_is_refused(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BookFault, match=f"the book .*{why}"):
        OpeningBook.load(tmp_path / name)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BookFault, match=r"missing.epd can't be read"):
        OpeningBook.load(tmp_path / "missing.epd")


@pytest.mark.parametrize("index", [-1, 1])
def test_there_is_nothing_outside_of_a_book(index: int) -> None:
    with pytest.raises(IndexError):
        epd(KINGS)[index]


STANDARD = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


def pgn(text: str, plies: int | None = None, name: str = "book.pgn") -> OpeningBook:
    return OpeningBook.parse(name, BookFormat.PGN, text.encode(), plies=plies)


def moves(movetext: str, plies: int | None = None) -> str:
    return " ".join(pgn(f'[Event "?"]\n\n{movetext}\n', plies)[0].moves)


def test_games_are_told_apart_by_their_tags() -> None:
    book = pgn('[Event "1"]\n[Site "?"]\n\n1. e4 e5 *\n\n[Event "2"]\n\n1. d4\nd5 1-0\n')
    assert [book[index].moves for index in range(len(book))] == [("e2e4", "e7e5"), ("d2d4", "d7d5")]


def test_a_game_without_tags_is_read_too() -> None:
    assert pgn("1. e4 *")[0] == Opening(STANDARD, ("e2e4",))


@pytest.mark.parametrize(
    "movetext",
    [
        "1. e4 e5 2. Nf3 *",
        "1.e4 e5 2.Nf3",
        "1 e4 e5 2 Nf3 1/2-1/2",
        '1. e4! {best [Event "no"]} e5?! $14 2. Nf3 *',
        "1. e4 (1. d4 d5 (1... Nf6 2. c4) 2. c4) 1... e5 2. Nf3 (2. f4) *",
        "1. e4 ; by test (of old\ne5 2. Nf3",
        '1. e4 e5\n{\n[Event "quoted"]\n}\n2. Nf3 *',
    ],
)
def test_only_the_main_line_counts(movetext: str) -> None:
    assert moves(movetext) == "e2e4 e7e5 g1f3"


def test_a_comment_that_quotes_a_tag_starts_no_game() -> None:
    assert len(pgn('[Event "1"]\n\n1. e4 {\n[Event "quoted"]\n} e5 *\n')) == 1


@pytest.mark.parametrize(("plies", "expected"), [(0, ""), (1, "e2e4"), (3, "e2e4 e7e5 g1f3")])
def test_plies_limit_an_opening(plies: int, expected: str) -> None:
    assert moves("1. e4 e5 2. Nf3 Nc6", plies) == expected


def test_an_opening_stops_before_an_illegal_move() -> None:
    assert moves("1. e4 e5 2. Kd5 Nc6") == "e2e4 e7e5"


def test_an_opening_stops_before_a_null_move() -> None:
    assert moves("1. e4 -- 2. d4") == "e2e4"


def test_an_opening_stops_before_the_move_that_ends_the_game() -> None:
    assert moves("1. f3 e5 2. g4 Qh4#") == "f2f3 e7e5 g2g4"


def test_an_opening_without_a_single_sound_move_is_bad() -> None:
    book = pgn('[Event "1"]\n\n1. e4 *\n\n[Event "2"]\n\n1. Ke5 *\n')
    with pytest.raises(BookFault, match=r"line 5 of the book book.pgn .*: \[Event \"2\"\]"):
        book[1]


def test_a_game_may_start_from_a_position() -> None:
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    assert pgn(f'[FEN "{fen}"]\n[SetUp "1"]\n\n1. e4 *')[0] == Opening(fen, ("e2e4",))


def test_a_wrong_position_is_bad() -> None:
    with pytest.raises(BookFault, match="line 1"):
        pgn('[FEN "nonsense"]\n\n1. e4 *')[0]


def test_castling_in_fischer_random_is_king_takes_rook() -> None:
    fen = "4k3/8/8/8/8/8/8/4K2R w H - 0 1"
    assert pgn(f'[Variant "Chess960"]\n[FEN "{fen}"]\n\n1. O-O *')[0].moves == ("e1h1",)
    assert pgn(f'[FEN "{fen}"]\n\n1. O-O *')[0].moves == ("e1g1",)


def test_castling_with_zeros_is_understood() -> None:
    fen = "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1"
    assert pgn(f'[FEN "{fen}"]\n\n1. 0-0-0 *')[0].moves == ("e1c1",)
