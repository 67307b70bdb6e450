"""A book is counted, digested and looked at while it comes in."""

import base64
import hashlib

import chess
import pytest

from rookery.core.books import DEMO, demo_path, official_books
from rookery.server.files.books import BookReader
from rookery.server.files.store import FileRefused
from scripts.demo_book import LINES, position

LINE = chess.STARTING_FEN
GAME = '[Event "a"]\n[Result "*"]\n\n1. e4 e5 2. Nf3 *\n\n'


def read(text: bytes, name: str = "book.epd", piece: int = 7) -> BookReader:
    reading = BookReader(name)
    for start in range(0, len(text), piece):
        reading.feed(text[start : start + piece])
    reading.finish()
    return reading


def test_lines_are_counted_whatever_pieces_they_come_in() -> None:
    assert read(f"{LINE}\n\n{LINE}\n{LINE}".encode()).openings == 3


def test_the_hash_is_that_of_the_text_with_line_feeds() -> None:
    text = f"{LINE}\n{LINE}\n".encode()
    expected = base64.b64encode(hashlib.sha384(text).digest()).decode()
    assert read(text).sri == expected
    assert read(text.replace(b"\n", b"\r\n")).sri == expected


def test_games_are_counted_by_their_first_tag() -> None:
    assert read((GAME * 3).encode(), "book.pgn").openings == 3


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (b"", "book.epd", "no opening"),
        (b"\n\n", "book.epd", "no opening"),
        (b"\xff\xfe", "book.epd", "UTF-8"),
        (b"PK\x03\x04 zip", "book.epd", "not a position"),
        (b"8/8/8/8/8/8/8/8 w - - 0 1", "book.epd", "not a position"),
        (b"x" * 20_000, "book.epd", "longer than"),
        (GAME.replace("Nf3", "Nf6").encode(), "book.pgn", "can't be played"),
        (f"{LINE}\n".encode(), "book.pgn", "no opening"),
    ],
)
def test_what_is_no_book_is_refused_in_words(text: bytes, name: str, why: str) -> None:
    with pytest.raises(FileRefused, match=why):
        read(text, name)


def test_far_into_a_large_book_some_lines_are_still_looked_at() -> None:
    lines = [LINE] * 2000
    lines[999] = "nonsense"
    with pytest.raises(FileRefused, match="Opening 1000 "):
        read("\n".join(lines).encode(), piece=100_000)


def test_shuffled_castling_rights_are_fine_where_the_name_says_so() -> None:
    line = b"nrbkqbrn/pppppppp/8/8/8/8/PPPPPPPP/NRBKQBRN w GBgb - 0 1\n"
    assert read(line, "my_FRC.epd").openings == 1
    with pytest.raises(FileRefused):
        read(line, "my.epd")


def test_our_own_book_is_what_its_moves_lead_to() -> None:
    text = "".join(map(position, LINES.strip().splitlines()))
    assert demo_path().read_text() == text
    assert read(text.encode(), DEMO).openings == len(set(text.splitlines())) == 96


def test_the_usual_official_book_is_known() -> None:
    book = official_books()["UHO_Lichess_4852_v1.epd"]
    assert (book.openings, len(book.sri)) == (2_632_036, 64)
