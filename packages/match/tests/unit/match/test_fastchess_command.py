"""The command line says what the manual of fastchess wants to hear."""

from dataclasses import replace
from pathlib import Path

import pytest

from rookery.core.model.timecontrol import parse
from rookery.match.fastchess_command import (
    FastchessFiles,
    Schedule,
    UnsupportedByFastchess,
    command_line,
    silence_seconds,
    time_limit,
)
from rookery.match.job import OFFICIAL_DRAW, OFFICIAL_RESIGN, Adjudication, EngineSpec, Setup

NEW = EngineSpec("New", ("/engines/new",), (("Hash", "16"),), "10+0.1")
BASE = EngineSpec("Base", ("/engines/base",), (), "10+0.1")


def told(
    *engines: EngineSpec,
    setup: Setup | None = None,
    files: FastchessFiles | None = None,
    pairs: int = 40,
    round_robin: bool = False,
) -> list[str]:
    return command_line(
        "fastchess",
        engines or (NEW, BASE),
        setup or Setup(),
        files or FastchessFiles(),
        Schedule(pairs, 3, round_robin=round_robin),
    )


def after(words: list[str], option: str) -> list[str]:
    """Return the words of one option, up to the next."""
    rest = words[words.index(option) + 1 :]
    end = next((i for i, word in enumerate(rest) if word.startswith("-")), len(rest))
    return rest[:end]


def test_every_opening_is_played_with_both_colours() -> None:
    words = told()
    assert words[0] == "fastchess"
    assert after(words, "-games") == ["2"]
    assert after(words, "-rounds") == ["40"]
    assert {"-repeat", "-recover"} <= set(words)


def test_games_run_side_by_side_and_are_reported_in_pairs() -> None:
    assert after(told(), "-concurrency") == ["3"]
    assert after(told(), "-report") == ["penta=true"]
    assert after(told(), "-ratinginterval") == ["1"]


def test_each_engine_comes_with_its_limit_and_its_options() -> None:
    words = told()
    assert after(words, "-engine") == [
        "name=New",
        "cmd=/engines/new",
        "proto=uci",
        "tc=10+0.1",
        "timemargin=20",
        "option.Hash=16",
    ]
    assert words[-6:-1] == ["-engine", "name=Base", "cmd=/engines/base", "proto=uci", "tc=10+0.1"]


def test_an_engine_may_have_arguments_a_folder_and_a_margin() -> None:
    engine = replace(
        NEW,
        command=("/bin/python", "-m", "rookery.match.fledgling"),
        options=(("Move Overhead", "5"),),
        threads=2,
        folder="/tmp/x",
    )
    assert after(told(engine, BASE, setup=Setup(margin_ms=10_000)), "-engine")[4:] == [
        "args=-m rookery.match.fledgling",
        "dir=/tmp/x",
        "timemargin=10000",
        "option.Threads=2",
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
    assert time_limit(parse(text)) == word


def test_openings_are_shuffled_by_the_seed_from_a_place_on() -> None:
    files = FastchessFiles(Path("/books/UHO.epd"), seed=2**64 - 1, start=17)
    words = told(files=files)
    assert after(words, "-srand") == ["18446744073709551615"]
    assert after(words, "-openings") == [
        "file=/books/UHO.epd",
        "format=epd",
        "order=random",
        "start=17",
    ]


def test_without_a_seed_openings_come_in_the_book_s_order() -> None:
    words = told(files=FastchessFiles(Path("/books/a.pgn"), plies=16))
    assert "-srand" not in words
    assert after(words, "-openings")[1:] == [
        "format=pgn",
        "order=sequential",
        "plies=16",
        "start=1",
    ]


def test_adjudication_is_off_unless_wanted() -> None:
    assert not {"-resign", "-draw", "-maxmoves", "-tb"} & set(told())


def test_adjudication_is_told_with_its_numbers() -> None:
    rules = Adjudication(OFFICIAL_RESIGN, OFFICIAL_DRAW, syzygy_men=5, most_moves=200)
    words = told(setup=Setup(rules, syzygy=("/a", "/b")))
    assert after(words, "-resign") == ["movecount=3", "score=600", "twosided=false"]
    assert after(words, "-draw") == ["movenumber=34", "movecount=8", "score=20"]
    assert after(words, "-maxmoves") == ["200"]
    assert (after(words, "-tb"), after(words, "-tbpieces")) == (["/a:/b"], ["5"])


def test_fischer_random_is_a_variant() -> None:
    files = FastchessFiles(Path("/books/frc.epd"), seed=1)
    words = told(setup=Setup(chess960=True), files=files)
    assert after(words, "-variant") == ["fischerandom"]
    assert after(told(), "-variant") == ["standard"]


def test_games_are_written_to_a_file() -> None:
    words = told(files=FastchessFiles(pgn=Path("/out/a.pgn")))
    assert after(words, "-pgnout")[0] == "file=/out/a.pgn"


def test_several_engines_play_a_gauntlet_or_all_against_all() -> None:
    third = replace(BASE, name="Third")
    assert after(told(NEW, BASE, third), "-tournament") == ["gauntlet"]
    # Asked for by its name, some versions play a gauntlet; unasked, all play this.
    assert "-tournament" not in told(NEW, BASE, third, round_robin=True)


def test_two_engines_need_no_kind_of_tournament() -> None:
    assert "-tournament" not in told()


def test_its_settings_are_written_nowhere() -> None:
    assert after(told(), "-config") == ["outname=/dev/null"]


@pytest.mark.parametrize("name", ["", "a (b)", "a vs b", "a\nb", "{a}"])
def test_a_name_that_the_output_would_garble_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedByFastchess, match="name"):
        told(replace(NEW, name=name), BASE)


@pytest.mark.parametrize("argument", ["two words", 'a"b', ""])
def test_arguments_that_fastchess_would_split_are_refused(argument: str) -> None:
    with pytest.raises(UnsupportedByFastchess, match="arguments"):
        told(replace(NEW, command=("/engines/new", argument)), BASE)


@pytest.mark.parametrize("option", [("Clear Hash", ""), ("A=B", "1"), ("", "1")])
def test_options_that_it_would_misread_are_refused(option: tuple[str, str]) -> None:
    with pytest.raises(UnsupportedByFastchess, match="options"):
        told(replace(NEW, options=(option,)), BASE)


@pytest.mark.parametrize("tc", ["MT=0.9", "0.0005", "0+0.0009"])
def test_less_than_its_smallest_time_is_refused(tc: str) -> None:
    with pytest.raises(UnsupportedByFastchess, match="millisecond"):
        told(replace(NEW, tc=tc), BASE)


def test_a_folder_that_would_be_taken_for_two_is_refused() -> None:
    with pytest.raises(UnsupportedByFastchess, match="colon"):
        told(setup=Setup(syzygy=("/a:b",)))


def test_silence_is_borne_as_long_as_a_game_may_last() -> None:
    assert silence_seconds((NEW, BASE)) == 3600.0
    assert silence_seconds((replace(NEW, tc="3600+30"), BASE)) == 3 * 3600 + 200 * 30


def test_a_packed_book_is_refused() -> None:
    with pytest.raises(UnsupportedByFastchess, match="neither"):
        told(files=FastchessFiles(Path("/books/a.epd.zip"), seed=1))


@pytest.mark.parametrize(("start", "seed"), [(0, 1), (1, 2**64), (1, -1)])
def test_a_wrong_place_or_seed_is_refused(start: int, seed: int) -> None:
    with pytest.raises(UnsupportedByFastchess, match="openings from"):
        told(files=FastchessFiles(Path("/books/a.epd"), seed=seed, start=start))


def test_a_match_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UnsupportedByFastchess, match="two engines"):
        told(NEW, NEW)
    with pytest.raises(UnsupportedByFastchess, match="0 pairs"):
        told(pairs=0)
    with pytest.raises(UnsupportedByFastchess, match="without a book"):
        told(setup=Setup(chess960=True))
