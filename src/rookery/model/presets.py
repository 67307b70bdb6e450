"""The presets of an engine's record as the fields of a submission, for commands and forms.

A record keeps each setting as a text. Some fields are texts whatever they look like; those of
others are JSON.
"""

from collections.abc import Mapping

import msgspec

from rookery.model.engine import EngineRecord, PresetRecord

KINDS = frozenset({"sprt", "spsa"})
"""Fields that say which kind of run it is, and may be given in part."""
PLAIN_PRESET = "default"
QUICK_PRESET = "quick"
"""Known for every engine and for programs, unless a record has one of this name."""
QUICK = PresetRecord(QUICK_PRESET, {"tc": "1+0.01", "sprt": '{"elo0": 0.0, "elo1": 30.0}'})
"""For a first look: large differences show within half an hour on two cores."""
WORDS = frozenset(
    {
        *("new_tag", "base_tag", "tests_repo", "new_repo", "base_repo", "tc", "new_tc", "book"),
        *("book_sri", "new_options", "base_options", "info", "new_engine", "base_engine"),
        *("arch_filter", "compiler", "variant", "scaling", "pgn_detail"),
    }
)
"""Fields that are texts whatever they look like; those of others are JSON if they can be."""


def list_presets(record: EngineRecord) -> tuple[PresetRecord, ...]:
    """The presets of an engine in the order of its record, and `quick` where it has none."""
    own = record.presets
    return own if any(each.name == QUICK_PRESET for each in own) else (*own, QUICK)


def find_preset(record: EngineRecord, name: str) -> PresetRecord | None:
    return next((each for each in list_presets(record) if each.name == name), None)


def read_preset(preset: PresetRecord) -> dict[str, object]:
    """The settings of a preset as the fields of a submission."""
    texts = preset.settings.items()
    return {name: text if name in WORDS else read_value(text) for name, text in texts}


def read_value(text: str) -> object:
    """Reads JSON; what is no JSON is the text itself, so that few things need quotes."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return text


def lay_over(before: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """The fields with those that are given later. Of a kind of run these may say a part, such as a
    tune's parameters, and the rest is as it was; another kind goes with all it had."""
    named = KINDS & given.keys()
    kept = {name: value for name, value in before.items() if not named or name not in KINDS - named}
    parts = {name: _join(kept.get(name), given[name]) for name in named}
    return kept | dict(given) | parts


def _join(before: object, given: object) -> object:
    return before | given if isinstance(before, dict) and isinstance(given, dict) else given
