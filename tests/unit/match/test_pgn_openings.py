"""Openings from PGN: the main line, limited, and cut where it stops making sense."""

import pytest

from rookery.match.openings import BookFault, BookFormat, Opening, OpeningBook

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
