"""An engine's record as texts of a form, and back."""

import pytest

from rookery.core.model.engine import BUILT_IN, STOCKFISH, EngineRecord, RecipeRecord, ToolRecord
from rookery.server.engines.edit.form import list_changes, read_record, spell_record

TINY = EngineRecord(
    name="Tiny",
    recipe=RecipeRecord(kind="commands", commands=("make all", "strip tiny"), output="tiny"),
    tools=(ToolRecord("cargo", "1.75"), ToolRecord("make")),
    cpu_flags=("avx2", "bmi2"),
)


@pytest.mark.parametrize("record", [*BUILT_IN, TINY], ids=lambda record: record.name)
def test_a_record_survives_the_form(record: EngineRecord) -> None:
    assert read_record(spell_record(record)).value == record


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("name", "no/slash"),
        ("memory.machine", "much"),
        ("share", "-1"),
        ("recipe.kind", "magic"),
        ("speed.floor", "nan"),
        ("tools", "x" * 2000),
    ],
)
def test_what_is_wrong_is_told_beside_its_input(field: str, text: str) -> None:
    read = read_record({**spell_record(TINY), field: text})
    assert read.value is None
    assert list(read.errors) == [field]


def test_a_preset_without_a_name_is_taken_away() -> None:
    texts = {**spell_record(STOCKFISH), "preset.0.name": " "}
    read = read_record(texts).value
    assert read is not None
    assert read.presets == STOCKFISH.presets[1:]


def test_a_version_shows_what_it_changed_and_nothing_else() -> None:
    texts = {**spell_record(TINY), "recipe.output": "bin/tiny"}
    after = read_record(texts).value
    assert after is not None
    (change,) = list_changes(TINY, after)
    assert (change.label, change.before, change.after) == ("Program", "tiny", "bin/tiny")


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong = {"name": "", "share": "x", "memory.thread": "y"}
    assert read_record({**spell_record(TINY), **wrong}).errors.keys() == wrong.keys()
