"""What an approver should know: each hint for what it is about, and none for an ordinary test."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.engine import FLEDGLING, STOCKFISH, EngineRecord, RecipeRecord
from rookery.core.model.kinds import SprtTest
from rookery.core.model.plan import Side
from rookery.core.stats.sprt import Sprt
from rookery.server.farm.rules.review import (
    NO_FACTS,
    UNREAD,
    ReviewFacts,
    Severity,
    SourceFacts,
    review_submission,
)
from tests.makers import make_plan, make_run, make_side, sprt, spsa

NEW = {"commit": "a" * 40, "signature": "1234567"}
BASE = {"commit": "b" * 40, "signature": "2345678"}


def sides(
    new: dict[str, Any] | None = None, base: dict[str, Any] | None = None
) -> tuple[Side, ...]:
    return (
        make_side("idea", **NEW | (new or {})),
        make_side("master", **BASE | (base or {})),
    )


def hints(
    facts: ReviewFacts = NO_FACTS,
    bounds: tuple[float, float] = (0, 2),
    record: EngineRecord = STOCKFISH,
    **plan: Any,
) -> str:
    run = make_run("a", make_plan(**{"sides": sides(), **plan}), sprt(1, *bounds))
    return "\n".join(
        f"{hint.severity}: {hint.text}" for hint in review_submission(run, record, facts)
    )


def test_an_ordinary_test_gives_no_cause_to_look() -> None:
    assert hints(ReviewFacts(earlier_runs=3, sources=SourceFacts(ancestor=True))) == ""


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"throughput": 200}, "look: Throughput 200 %"),
        ({"throughput": 50}, "note: Throughput 50 %"),
        ({"priority": 1}, "look: Priority 1"),
        ({"sides": sides({"options": "Hash=32"})}, "look: Hash differs: 32 against 16"),
        (
            {"sides": sides({"options": "Hash=16 Foo=1"})},
            "note: The sides differ in the options Foo",
        ),
        ({"sides": sides(BASE)}, "wrong: Both sides are the same"),
        ({"sides": sides({"tc": "20+0.2"})}, "look: Time odds"),
        ({"sides": sides({"threads": 2})}, "look: Unequal threads: 2 against 1"),
        ({"sides": sides({"signature": ""})}, "look: The bench of the new side is not known"),
        ({"sides": sides(base={"signature": ""})}, "look: The bench of the base is not known"),
        ({"sides": sides({"signature": "2345678"})}, "note: Both sides have the same bench"),
        ({"tc": "8+0.08"}, "look: 8+0.08 with 1 thread is not"),
        ({"variant": "chess960"}, "look: UHO.epd looks like a book of standard games"),
        ({"arch_filter": "avx512"}, "note: Only some machines"),
        ({"adjudication": False}, "note: Games are played to their end"),
    ],
)
def test_what_is_unusual_is_told(plan: dict[str, Any], told: str) -> None:
    assert told in hints(**plan)


def test_bounds_that_no_preset_has_are_told() -> None:
    assert "The bounds [0, 3] are not among" in hints(bounds=(0, 3))


def test_the_quick_preset_that_every_engine_has_is_no_odd_one() -> None:
    assert "preset" not in hints(bounds=(0, 30), tc="1+0.01")


def test_an_engine_without_presets_of_its_own_is_held_to_none() -> None:
    assert "preset" not in hints(record=EngineRecord(name="Strix"), bounds=(0, 3), tc="8+0.08")


def test_bounds_of_another_time_control_are_told() -> None:
    told = hints(bounds=(0, 2), tc="60+0.6")
    assert "The bounds [0, 2] belong to another preset: for 60+0.6 with 1 thread" in told
    assert "[0.5, 2.5], [-1.75, 0.25]" in told


def test_unusual_rates_of_error_are_told() -> None:
    run = make_run("a", make_plan(sides=sides()), SprtTest(Sprt(0, 2, alpha=0.1)))
    told = [hint.text for hint in review_submission(run, STOCKFISH)]
    assert "Its rates of error are not the usual ones: alpha 0.1, beta 0.05." in told


def test_a_record_that_names_its_main_branch_is_taken_at_its_word() -> None:
    record = with_fields(STOCKFISH, branch="trunk-2")
    assert "The base is master, not the main branch" in hints(record=record)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (SourceFacts(ancestor=False), "look: The base is not an ancestor"),
        (SourceFacts(base_on_main=False), "look: The base is not on the engine's main branch"),
        (SourceFacts(missing_nets=("nn-1.nnue",)), "wrong: It needs nets that are not kept here"),
        (SourceFacts(unlisted_nets=("nn-1.nnue",)), "look: The sources name nets that the test"),
        (
            SourceFacts(base_nets=("nn-1.nnue",), nets_checked=False),
            "note: Nets were not checked, since workers get them from elsewhere: nn-1.nnue",
        ),
        (SourceFacts(private_nets=("nn-1.nnue",)), "look: It plays with a net of a private engine"),
        (SourceFacts(files=3, added=900, removed=200), "look: The diff: 900 lines added"),
        (SourceFacts(files=1, added=4), "note: The diff: 4 lines added"),
        (SourceFacts(message_bench="999999"), "look: The bench of the new side was changed"),
        (SourceFacts(base_message_bench="999999"), "look: The bench of the base was changed"),
        (SourceFacts(trouble="no answer"), "look: The sources could not be looked at: no answer"),
    ],
)
def test_what_the_sources_tell_is_told(facts: SourceFacts, told: str) -> None:
    assert told in hints(ReviewFacts(sources=facts))


def test_a_patch_for_another_repository_is_not_held_against_the_engines_main_branch() -> None:
    facts = ReviewFacts(sources=SourceFacts(base_on_main=False))
    told = hints(facts, master_repo="https://git.example.org/olga/fish")
    assert "note: The patch is meant for https://git.example.org/olga/fish" in told
    assert "main branch" not in told


def test_sources_that_nobody_has_read_yet_are_told_as_such() -> None:
    assert "note: The sources have not been read yet." in hints()


@pytest.mark.parametrize(
    "record",
    [with_fields(STOCKFISH, recipe=RecipeRecord(kind="installed")), FLEDGLING],
    ids=["installed", "bundled"],
)
def test_what_is_not_built_has_no_sources_to_read(record: EngineRecord) -> None:
    assert UNREAD.text not in hints(record=record)


def test_a_program_has_no_sources_to_read() -> None:
    assert UNREAD.text not in hints(sides=sides({"binary": "c" * 64}))


def test_of_a_run_that_has_ended_nobody_reads_sources_any_more() -> None:
    run = make_run("a", make_plan(sides=sides()), sprt())
    over = replace(run, status=replace(run.status, finished=True))
    assert UNREAD not in review_submission(over, STOCKFISH)


def test_the_first_test_of_a_person_is_told() -> None:
    assert "first test of olga" in hints(ReviewFacts(earlier_runs=0))


def test_what_is_wrong_comes_first() -> None:
    run = make_run("a", make_plan(sides=sides(BASE), throughput=50, priority=1), sprt())
    found = [hint.severity for hint in review_submission(run, STOCKFISH)]
    assert found == sorted(found, key=list(Severity).index)


def test_a_tune_plays_one_program_against_itself() -> None:
    run = replace(make_run("a", make_plan(sides=sides(BASE))), kind=spsa())
    assert "same" not in " ".join(hint.text for hint in review_submission(run, STOCKFISH))


def test_a_few_games_of_an_engine_against_itself_are_a_trial() -> None:
    run = make_run("a", make_plan(sides=sides(BASE), games=8))
    found = [hint for hint in review_submission(run, STOCKFISH) if "same" in hint.text]
    assert [hint.severity for hint in found] == [Severity.NOTE]
