"""The presets of an engine's record as the fields of a submission, for commands and forms.

A record stores each setting as text. Some fields are plain text whatever they look like; the others
are JSON.
"""

from collections.abc import Mapping

import msgspec

from rookery.core.model.engine import EngineRecord, PresetRecord
from rookery.core.model.kinds import CHOSEN

PLAIN_PRESET = "default"
QUICK_PRESET = "quick"
"""The name of a preset that exists for every engine and for programs, unless a record has one of
the same name."""
QUICK = PresetRecord(QUICK_PRESET, {"tc": "1+0.01", "sprt": '{"elo0": 0.0, "elo1": 30.0}'})
"""The preset for a first trial: large differences show within half an hour on two cores."""
WORDS = frozenset(
    {
        *("new_tag", "base_tag", "tests_repo", "new_repo", "base_repo", "tc", "new_tc", "book"),
        *("book_sri", "new_options", "base_options", "info", "new_engine", "base_engine"),
        *("arch_filter", "compiler", "variant", "scaling", "pgn_detail"),
    }
)
"""Fields that are plain text whatever they look like; others are read as JSON if possible."""


def list_presets(record: EngineRecord) -> tuple[PresetRecord, ...]:
    """Return the presets of an engine in the order of its record, with `quick` unless it has
    one."""
    own = record.presets
    return own if any(each.name == QUICK_PRESET for each in own) else (*own, QUICK)


def find_preset(record: EngineRecord, name: str) -> PresetRecord | None:
    return next((each for each in list_presets(record) if each.name == name), None)


def read_preset(preset: PresetRecord) -> dict[str, object]:
    """Return the settings of a preset as the fields of a submission."""
    texts = preset.settings.items()
    return {name: text if name in WORDS else read_value(text) for name, text in texts}


def read_value(text: str) -> object:
    """Read a value as JSON; a text that is no JSON stays as it is, so that few values need
    quotes."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return text


def merge_fields(before: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields `before`, overridden by those `given`. Settings of a kind of run may be
    given in part, such as a tune's parameters, and the rest stays; a different kind replaces all of
    the previous one."""
    named = CHOSEN & given.keys()
    dropped = CHOSEN - named if named else frozenset[str]()
    kept = {name: value for name, value in before.items() if name not in dropped}
    parts = {name: _join(kept.get(name), given[name]) for name in named}
    return kept | dict(given) | parts


def _join(before: object, given: object) -> object:
    return before | given if isinstance(before, dict) and isinstance(given, dict) else given
