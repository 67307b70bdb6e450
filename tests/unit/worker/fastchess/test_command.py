"""The command line says what the manual of fastchess wants to hear."""

from dataclasses import replace
from pathlib import Path

import pytest

from rookery.match.fastchess_command import (
    Draw,
    Invocation,
    Openings,
    Pgn,
    Resign,
    Side,
    Tablebases,
    UnsupportedByFastchess,
    command_line,
    limit,
)
from rookery.model.timecontrol import parse

NEW = Side("New", Path("/engines/new"), parse("10+0.1"), options=(("Hash", "16"),))
BASE = Side("Base", Path("/engines/base"), parse("10+0.1"))
MATCH = Invocation((NEW, BASE), pairs=40, concurrency=3)


def told(match: Invocation) -> list[str]:
    return command_line("fastchess", match)


def after(words: list[str], option: str) -> list[str]:
    """The words of one option, up to the next."""
    rest = words[words.index(option) + 1 :]
    end = next((i for i, word in enumerate(rest) if word.startswith("-")), len(rest))
    return rest[:end]


def test_every_opening_is_played_with_both_colours() -> None:
    words = told(MATCH)
    assert words[0] == "fastchess"
    assert after(words, "-games") == ["2"]
    assert after(words, "-rounds") == ["40"]
    assert {"-repeat", "-recover"} <= set(words)


def test_games_run_side_by_side_and_are_reported_in_pairs() -> None:
    assert after(told(MATCH), "-concurrency") == ["3"]
    assert after(told(MATCH), "-report") == ["penta=true"]
    assert after(told(MATCH), "-ratinginterval") == ["1"]


def test_each_engine_comes_with_its_limit_and_its_options() -> None:
    words = told(MATCH)
    assert after(words, "-engine") == [
        "name=New",
        "cmd=/engines/new",
        "proto=uci",
        "tc=10+0.1",
        "option.Hash=16",
    ]
    assert words[-5:] == ["-engine", "name=Base", "cmd=/engines/base", "proto=uci", "tc=10+0.1"]


def test_an_engine_may_have_arguments_a_folder_and_a_margin() -> None:
    side = replace(
        NEW,
        program=Path("/bin/python"),
        arguments=("-m", "rookery.match.fledgling"),
        options=(("Move Overhead", "5"),),
        directory=Path("/tmp/x"),
        time_margin_ms=10_000,
    )
    assert after(told(replace(MATCH, sides=(side, BASE))), "-engine")[4:] == [
        "args=-m rookery.match.fledgling",
        "dir=/tmp/x",
        "timemargin=10000",
        "option.Move Overhead=5",
    ]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("10+0.1", "tc=10+0.1"),
        ("40/60+0.6", "tc=40/60+0.6"),
        ("1:30", "tc=90"),
        ("N=25000", "nodes=25000"),
        ("D=12", "plies=12"),
        ("MT=100", "st=0.1"),
        ("MT=1", "st=0.001"),
        ("st=12", "st=12"),
    ],
)
def test_every_time_control_has_its_word(text: str, word: str) -> None:
    assert limit(parse(text)) == word


def test_openings_are_shuffled_by_the_seed_from_a_place_on() -> None:
    book = Openings(Path("/books/UHO.epd"), seed=2**64 - 1, start=17)
    words = told(replace(MATCH, openings=book))
    assert after(words, "-srand") == ["18446744073709551615"]
    assert after(words, "-openings") == [
        "file=/books/UHO.epd",
        "format=epd",
        "order=random",
        "start=17",
    ]


def test_without_a_seed_openings_come_in_the_book_s_order() -> None:
    words = told(replace(MATCH, openings=Openings(Path("/books/a.pgn"), seed=None, plies=16)))
    assert "-srand" not in words
    assert after(words, "-openings")[1:] == [
        "format=pgn",
        "order=sequential",
        "plies=16",
        "start=1",
    ]


def test_adjudication_is_off_unless_wanted() -> None:
    assert not {"-resign", "-draw", "-maxmoves", "-tb"} & set(told(MATCH))


def test_adjudication_is_told_with_its_numbers() -> None:
    words = told(
        replace(
            MATCH,
            resign=Resign(),
            draw=Draw(),
            most_moves=200,
            tablebases=Tablebases((Path("/a"), Path("/b")), men=5),
        )
    )
    assert after(words, "-resign") == ["movecount=3", "score=600", "twosided=false"]
    assert after(words, "-draw") == ["movenumber=34", "movecount=8", "score=20"]
    assert after(words, "-maxmoves") == ["200"]
    assert (after(words, "-tb"), after(words, "-tbpieces")) == (["/a:/b"], ["5"])


def test_fischer_random_is_a_variant() -> None:
    book = Openings(Path("/books/frc.epd"), seed=1)
    words = told(replace(MATCH, chess960=True, openings=book))
    assert after(words, "-variant") == ["fischerandom"]
    assert after(told(MATCH), "-variant") == ["standard"]


def test_games_are_written_with_event_and_site() -> None:
    words = told(replace(MATCH, pgn=Pgn(Path("/out/a.pgn"), "Batch 3: a vs b", "http://x/1")))
    assert after(words, "-event") == ["Batch 3: a vs b"]
    assert after(words, "-site") == ["http://x/1"]
    assert after(words, "-pgnout")[0] == "file=/out/a.pgn"


def test_several_engines_play_a_gauntlet_or_all_against_all() -> None:
    third = replace(BASE, name="Third")
    gauntlet = replace(MATCH, sides=(NEW, BASE, third))
    assert after(told(gauntlet), "-tournament") == ["gauntlet"]
    # Asked for by its name, some versions play a gauntlet; unasked, all play this.
    assert "-tournament" not in told(replace(gauntlet, round_robin=True))


def test_two_engines_need_no_kind_of_tournament() -> None:
    assert "-tournament" not in told(MATCH)


def test_its_settings_are_written_nowhere() -> None:
    assert after(told(MATCH), "-config") == ["outname=/dev/null"]


@pytest.mark.parametrize("name", ["", "a (b)", "a vs b", "a\nb", "{a}"])
def test_a_name_that_the_output_would_garble_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedByFastchess, match="name"):
        replace(NEW, name=name)


@pytest.mark.parametrize("argument", ["two words", 'a"b', ""])
def test_arguments_that_fastchess_would_split_are_refused(argument: str) -> None:
    with pytest.raises(UnsupportedByFastchess, match="arguments"):
        replace(NEW, arguments=(argument,))


@pytest.mark.parametrize("option", [("Clear Hash", ""), ("A=B", "1"), ("", "1")])
def test_options_that_it_would_misread_are_refused(option: tuple[str, str]) -> None:
    with pytest.raises(UnsupportedByFastchess, match="options"):
        replace(NEW, options=(option,))


@pytest.mark.parametrize("tc", ["MT=0.9", "0.0005", "0+0.0009"])
def test_less_than_its_smallest_time_is_refused(tc: str) -> None:
    with pytest.raises(UnsupportedByFastchess, match="millisecond"):
        replace(NEW, tc=parse(tc))


def test_what_would_be_taken_for_an_option_or_a_list_is_refused() -> None:
    with pytest.raises(UnsupportedByFastchess, match="dash"):
        Pgn(Path("/out/a.pgn"), event="-x")
    with pytest.raises(UnsupportedByFastchess, match="colon"):
        Tablebases((Path("/a:b"),), men=5)


def test_silence_is_borne_as_long_as_a_game_may_last() -> None:
    assert MATCH.silence_seconds == 3600.0
    slow = replace(NEW, tc=parse("3600+30"))
    assert replace(MATCH, sides=(slow, BASE)).silence_seconds == 3 * 3600 + 200 * 30


def test_a_program_needs_its_whole_path() -> None:
    with pytest.raises(UnsupportedByFastchess, match="whole path"):
        replace(NEW, program=Path("new"))


def test_a_packed_book_is_refused() -> None:
    with pytest.raises(UnsupportedByFastchess, match="neither"):
        Openings(Path("/books/a.epd.zip"), seed=1)


@pytest.mark.parametrize(("start", "seed"), [(0, 1), (1, 2**64), (1, -1)])
def test_a_wrong_place_or_seed_is_refused(start: int, seed: int) -> None:
    with pytest.raises(UnsupportedByFastchess, match="openings from"):
        Openings(Path("/books/a.epd"), seed=seed, start=start)


def test_a_match_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UnsupportedByFastchess, match="two engines"):
        replace(MATCH, sides=(NEW, NEW))
    with pytest.raises(UnsupportedByFastchess, match="0 pairs"):
        replace(MATCH, pairs=0)
    with pytest.raises(UnsupportedByFastchess, match="without a book"):
        replace(MATCH, chess960=True)
