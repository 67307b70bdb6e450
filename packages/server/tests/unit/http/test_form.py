"""The form engine: texts become values or all errors, and what was typed is kept."""

from collections.abc import Mapping
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from rookery.core.protocol.codec import BadField
from rookery.server.http.form import (
    AREA,
    CHOICE,
    LINES,
    NUMBER,
    PAIRS,
    TICK,
    WHOLE,
    WORDS,
    DeclaredForm,
    Input,
    InputKind,
    declare,
    whole_from,
)


class Rule(Struct, frozen=True):
    score: Annotated[int, Meta(ge=0)]
    moves: int


class Wish(Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(max_length=5)]
    size: Annotated[int, Meta(le=9)] = 1
    share: float = 0.5
    on: bool = False
    words: tuple[str, ...] = ()
    rule: Rule | None = None


FORM = DeclaredForm(
    declare(
        Input("name", "Name"),
        Input("size", "Size", WHOLE),
        Input("share", "Share", NUMBER, expected="A share, please."),
        Input("on", "On", TICK),
        Input("words", "Words", WORDS),
        Input("rule.score", "Score", WHOLE),
        Input("rule.moves", "Moves", WHOLE),
        Input("hidden"),
    )
)
TYPED = st.dictionaries(st.sampled_from([*FORM.inputs, "other"]), st.text(max_size=30))


@given(TYPED)
def test_what_was_typed_is_shown_again_whatever_is_wrong_with_it(texts: Mapping[str, str]) -> None:
    read = FORM.read(Wish, texts)
    shown = FORM.show(texts, read.errors)
    assert {name: shown.text(name) for name in texts} == texts
    assert (read.value is None) == bool(read.errors)
    assert {name for name in shown.inputs if shown.wrong(name)} == read.errors.keys()


TEXTS = st.text(st.characters(codec="ascii", exclude_categories=["C", "Z"]), min_size=1)
WISHES = st.builds(
    Wish,
    name=TEXTS.filter(lambda text: len(text) < 6),
    size=st.integers(-9, 9),
    share=st.integers(-(10**6), 10**6).map(lambda number: number / 8),
    on=st.booleans(),
    words=st.lists(TEXTS.filter(lambda text: "," not in text)).map(tuple),
    rule=st.none() | st.builds(Rule, st.integers(0, 10**9), st.integers(-(10**9), 10**9)),
)


@given(WISHES)
def test_a_value_survives_its_form(wish: Wish) -> None:
    plain = {name: getattr(wish, name) for name in wish.__struct_fields__ if name != "rule"}
    rule = wish.rule and {"rule": {"score": wish.rule.score, "moves": wish.rule.moves}}
    assert FORM.read(Wish, FORM.spell(plain | (rule or {}))).value == wish


def test_all_errors_are_told_at_once_each_by_its_input() -> None:
    texts = {"name": "too long", "size": "10", "share": "much", "rule.score": "-1"}
    assert FORM.read(Wish, texts).errors == {
        "name": "Expected 5 characters at most.",
        "size": "Expected a whole number up to 9.",
        "share": "A share, please.",
        "rule.score": "Expected a whole number from 0 on.",
        "rule.moves": "This is required.",
    }


def test_rules_are_asked_about_the_values_that_are_right() -> None:
    seen = list[Mapping[str, object]]()

    def rules(values: Mapping[str, object]) -> list[BadField]:
        seen.append(values)
        return [BadField(field="name", text="taken"), BadField(field="size", text="odd")]

    read = FORM.read_parsed(Wish, FORM.parse({"name": "a", "size": "x"}), rules)
    assert seen == [{"name": "a", "on": False}]
    assert read.errors == {"name": "taken", "size": "Expected a whole number."}


def test_an_error_of_what_is_not_shown_stands_above_the_form() -> None:
    errors = FORM.place([BadField(field="hidden", text="wrong"), BadField(field="on", text="no")])
    shown = FORM.show({}, errors)
    assert (shown.above, shown.first_wrong) == ("hidden: wrong", "on")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (WHOLE, "60,000", 60_000),
        (WHOLE, "-1", -1),
        (NUMBER, "1,000,000.5", 1_000_000.5),
        (NUMBER, ".5", 0.5),
        (NUMBER, "2e3", 2000),
        (LINES, "a\n\n b ", ["a", "b"]),
        (PAIRS, "Move Overhead = 10\nA=b=c", {"Move Overhead": "10", "A": "b=c"}),
        (AREA, "a\r\nb", "a\nb"),
        (CHOICE, "x", "x"),
        (whole_from(1, 9), "9", 9),
    ],
)
def test_a_text_becomes_a_value(kind: InputKind, text: str, value: object) -> None:
    assert kind.read(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *[(WHOLE, text) for text in ("1,0", "1.5", "two", "٣", "1" * 16, "--1")],
        *[(NUMBER, text) for text in ("nan", "inf", "1e999", "0,5", "1_0", "0x1", "1e", "٣")],
        *[(PAIRS, text) for text in ("a", "=b")],
        *[(whole_from(1, 9), text) for text in ("0", "10")],
    ],
)
def test_a_text_that_is_none_says_what_was_expected(kind: InputKind, text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected "):
        kind.read(text)
