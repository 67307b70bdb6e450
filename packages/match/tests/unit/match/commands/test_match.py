"""What `rookery match` makes of its command line, and how it shows a match."""

from dataclasses import replace
from typing import cast

import pytest

from rookery.core.books import demo_path
from rookery.core.command import BadArgument, as_words, parse_again
from rookery.core.display import Plain, display, duration
from rookery.core.model.plan import Draw, Resign
from rookery.core.stats.sprt import Sprt
from rookery.match.clock import Latency
from rookery.match.commands.match import (
    MatchField,
    MatchFlags,
    check_names,
    count_rounds,
    make_sprt,
    match,
    named,
    read_field,
)
from rookery.match.commands.options import book_path, load_book, make_setup, warn_of_openings
from rookery.match.commands.show import Progress, data, rows
from rookery.match.openings import BookFormat, OpeningBook
from rookery.match.pgn import Journal, JournalEntry, JournalHeader
from rookery.match.results import MatchScore, pair_score_of
from tests.unit.match.games import pair

SIDES = ("--new", "./a -x", "--base", "./b")


def parsed(*words: str) -> MatchFlags:
    return cast("MatchFlags", parse_again(match, words)["flags"])


def score_after(pairs: int, sprt: Sprt | None = None) -> MatchScore:
    now = MatchScore(sprt)
    for _ in range(pairs):
        now = now.after(pair_score_of(pair("1-0", "1/2-1/2")))
    return now


def test_sides_have_what_is_theirs_and_what_is_everybodys() -> None:
    words = ("--tc", "N=5", "--new-tc", "1+0.01", "--option", "Hash=1", "--new-option", "Hash=2")
    new, base = read_field(parsed(*SIDES, *words, "--base-threads", "3")).engines
    assert (new.command, new.tc, new.options) == (("./a", "-x"), "1+0.01", (("Hash", "2"),))
    assert (base.tc, base.options, base.threads) == ("N=5", (("Hash", "1"),), 3)


def test_engines_of_one_name_are_told_apart() -> None:
    field = read_field(parsed("--engine", "cmd=./a", "--engine", "cmd=./a", "--engine", "cmd=./b"))
    assert [engine.name for engine in field.engines] == ["a", "a#2", "b"]
    assert len(field.pairings) == 3


def test_our_engine_keeps_its_name() -> None:
    field = read_field(parsed("--engine", "cmd=rookery-fledgling", "--engine", "cmd=./b"))
    assert [engine.name for engine in field.engines] == ["rookery-fledgling", "b"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("./a",), "write cmd=./a"),
        (("cmd=./a", "threads=x"), "threads=x is not a number"),
        (("cmd=./a", "colour=red"), "no key colour"),
    ],
)
def test_what_says_nothing_about_an_engine_is_refused(
    words: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(BadArgument, match=complaint):
        read_field(parsed("--engine", *words, "--engine", "cmd=./b"))


@pytest.mark.parametrize(
    ("lines", "pairs", "warning"),
    [
        (None, 10, "from the starting position"),
        (5, 6, "5 openings for 6 pairs"),
        (10, 9, "9 of the book's 10 openings"),
        (10, 8, ""),
        (10, None, ""),
    ],
)
def test_openings_that_come_again_are_told_before(
    lines: int | None, pairs: int | None, warning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = b"8/8/8/8/8/4k3/8/4K3 w - - 0 1\n"
    book = None if lines is None else OpeningBook.parse("a.epd", BookFormat.EPD, text * lines)
    warn_of_openings(book, pairs)
    said = capsys.readouterr().err
    assert warning in said
    assert bool(said) == bool(warning)


def test_the_bundled_book_is_the_usual_one() -> None:
    assert book_path(parsed(*SIDES)) == demo_path()
    book = load_book(parsed(*SIDES))
    assert book is not None
    assert len(book) > 50


@pytest.mark.parametrize("name", ["rookery-demo", "rookery-demo.epd"])
def test_the_bundled_book_is_known_by_its_name(name: str) -> None:
    assert book_path(parsed(*SIDES, "--book", name)) == demo_path()


def test_no_book_can_be_asked_for_and_fischer_random_has_none() -> None:
    assert book_path(parsed(*SIDES, "--book", "none")) is None
    assert book_path(parsed(*SIDES, "--chess960")) is None


def names(field: MatchField) -> list[str]:
    return [engine.name for engine in field.engines]


def test_engines_go_by_their_own_names() -> None:
    args = parsed(*SIDES)
    assert names(named(args, read_field(args), ["Ada 1", "Bob 2"])) == ["Ada 1", "Bob 2"]
    assert names(named(args, read_field(args), ["", "Bob 2"])) == ["new", "Bob 2"]


def test_two_of_the_same_name_are_told_apart_by_their_sides() -> None:
    args = parsed(*SIDES)
    assert names(named(args, read_field(args), ["Ada", "Ada"])) == ["Ada (new)", "Ada (base)"]


def test_a_name_on_the_command_line_goes_before_the_engine_s_own() -> None:
    args = parsed("--engine", "cmd=a", "name=A", "--engine", "cmd=b", "--engine", "cmd=c")
    assert names(named(args, read_field(args), ["Ada", "Bob", "Bob"])) == ["A", "Bob", "Bob#2"]


def test_pairings_are_between_the_names_that_are_shown() -> None:
    args = parsed(*SIDES)
    (pairing,) = named(args, read_field(args), ["Ada", "Bob"]).pairings
    assert [engine.name for engine in pairing] == ["Ada", "Bob"]


def test_names_for_fastchess_have_no_sign_that_its_output_uses() -> None:
    args = parsed(*SIDES)
    field = named(args, read_field(args), ["Ada (dev)", "Bob vs {all}"], for_fastchess=True)
    assert names(field) == ["Ada [dev]", "Bob v [all]"]


def test_a_table_of_other_engines_is_not_gone_on_with(capsys: pytest.CaptureFixture[str]) -> None:
    score = replace(pair_score_of(pair("1-0", "1-0")), first="Old", second="Bob")
    kept = Journal(JournalHeader("match", ()), (JournalEntry(score),))
    two = parsed(*SIDES)
    check_names(named(two, read_field(two), ["Ada", "Bob"]), kept)
    assert "played by Old" in capsys.readouterr().err
    three = parsed("--engine", "cmd=a", "--engine", "cmd=b", "--engine", "cmd=c")
    with pytest.raises(BadArgument, match="played by Old"):
        check_names(named(three, read_field(three), ["Ada", "Bob", "Cid"]), kept)


def test_rules_below_zero_are_refused() -> None:
    with pytest.raises(BadArgument, match="negative"):
        make_setup(parsed(*SIDES, "--draw", "34", "8", "-20"))


def test_a_gauntlet_leaves_the_others_alone() -> None:
    words = ("--engine", "cmd=./a", "--engine", "cmd=./b", "--engine", "cmd=./c", "--gauntlet")
    assert len(read_field(parsed(*words)).pairings) == 2


def test_a_resumed_match_is_asked_for_in_the_same_words() -> None:
    first = parsed(
        *SIDES, "--sprt", "-5", "0", "--resign", "4", "500", "--option", "A=b c", "--option", "D=",
        "--chess960", "--pgn", "x y.pgn", "--json", "--seed", "7", "--draw", "1", "2", "3",
    )  # fmt: skip
    assert parsed(*as_words(first)) == first


def test_described_engines_are_asked_for_in_the_same_words() -> None:
    first = parsed("--engine", "cmd=./a -x", "name=A", "--engine", "cmd=./b", "option.Hash=1")
    assert parsed(*as_words(first)) == first


def test_the_official_adjudication_is_the_usual_one() -> None:
    rules = make_setup(parsed(*SIDES)).adjudication
    assert (rules.resign, rules.draw) == (Resign(600, 3), Draw(34, 8, 20))
    assert make_setup(parsed(*SIDES, "--no-adjudication")).adjudication.resign is None


def test_without_the_official_adjudication_only_the_rules_given_count() -> None:
    resign = make_setup(parsed(*SIDES, "--no-adjudication", "--resign", "4", "300")).adjudication
    assert (resign.resign, resign.draw) == (Resign(300, 4), None)
    words = ("--no-adjudication", "--draw", "40", "8", "10")
    draw = make_setup(parsed(*SIDES, *words)).adjudication
    assert (draw.resign, draw.draw) == (None, Draw(40, 8, 10))


def test_tablebases_need_their_number_of_men() -> None:
    with pytest.raises(BadArgument):
        make_setup(parsed(*SIDES, "--syzygy", "/tb"))


def test_a_test_has_no_limit_and_a_match_has_one() -> None:
    tested = parsed(*SIDES, "--sprt", "0", "5")
    assert count_rounds(tested, make_sprt(tested, read_field(tested))) is None
    assert count_rounds(parsed(*SIDES), None) == 50


def test_rows_show_the_test_between_its_bounds() -> None:
    shown = dict(rows(Progress(score_after(10, Sprt(0, 10)), 5.0, 100)))
    assert shown["Games"] == "20 of 100: +10 -0 =10 (75.0%)"
    assert "in (-2." in shown["LLR"]
    assert shown["Pairs"] == "LL 0, LD 0, even 0, WD 10, WW 0"
    assert shown["Speed"] == "240.0 games a minute"


def test_answers_read_late_are_shown_when_there_are_some() -> None:
    latency = Latency.fresh()
    assert "Late" not in dict(rows(Progress(score_after(1), 1.0, latency=latency)))
    latency.add_answer(0.012, spared=True)
    shown = dict(rows(Progress(score_after(1), 1.0, latency=latency)))
    assert shown["Late"] == "12 ms in 1 answers, charged to nobody; 1 of them read after the flag"


def test_a_match_that_has_not_begun_has_figures_too() -> None:
    assert dict(rows(Progress(MatchScore(Sprt(0, 5)), 0.0)))["Left"] == "unknown"
    assert data(Progress(MatchScore(), 0.0))["games"] == 0


def test_time_left_is_what_the_speed_says() -> None:
    assert dict(rows(Progress(score_after(10), 10.0, 40)))["Left"] == "10 s"
    assert duration(3725) == "1 h 02 min"


def test_a_log_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    plain = Plain(lambda: [("Games", "4"), ("Ends", "normal")], frozenset({"Games"}))
    plain.changed()
    assert capsys.readouterr().out == ""
    plain._next = 0.0
    plain.changed()
    assert capsys.readouterr().out == "Games 4\n"


def test_an_interrupted_display_leaves_what_was_reached(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), display("a", lambda: [("Games", "4")], quiet=False):
        raise KeyboardInterrupt
    assert capsys.readouterr().out == "Games 4\n"
