"""Converts an engine's record into the inputs of a form and back. Each input has the name of its
field."""

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from rookery.core.errors import Fault
from rookery.core.model.engine import EngineRecord
from rookery.core.protocol.codec import WireFault
from rookery.core.protocol.v1 import ENGINE_RECORD
from rookery.server.http.pages.field_words import NEEDED, say_plainly

BLANK_PRESETS = 2
MOST_PRESETS = 40
Texts = Mapping[str, str]


class InputKind(enum.Enum):
    """How a field of a record is written in one input."""

    TEXT = "text"
    NUMBER = "number"
    TICK = "tick"
    WORDS = "words"
    LINES = "lines"
    PAIRS = "pairs"
    TOOLS = "tools"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class RecordInput:
    """One input. `name` is the path of its field in a record."""

    name: str
    label: str
    kind: InputKind = InputKind.TEXT
    hint: str = ""
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class InputGroup:
    title: str
    inputs: tuple[RecordInput, ...]
    folded: bool = False


_RECIPES = (
    ("make", "make, OpenBench style"),
    ("stockfish", "make, Stockfish style"),
    ("cargo", "cargo"),
    ("cmake", "cmake"),
    ("commands", "custom commands"),
    ("installed", "no build: a command on the machine"),
)
_NETS = (
    ("none", "none"),
    ("embedded", "named in the source, built in"),
    ("build_variable", "by a build variable"),
    ("uci_option", "by a UCI option"),
)
GROUPS = (
    InputGroup(
        "Engine",
        (
            RecordInput("name", "Name", hint="A private engine is named TEAM~NAME."),
            RecordInput("source", "Git repository", hint="The one with the main branch."),
            RecordInput("branch", "Main branch", hint="Default: the repository's HEAD."),
            RecordInput("team", "Team", hint="The team that owns it."),
            RecordInput("private", "Private: only its team sees it", InputKind.TICK),
        ),
    ),
    InputGroup(
        "Build",
        (
            RecordInput("recipe.kind", "Build with", InputKind.CHOICE, options=_RECIPES),
            RecordInput("recipe.directory", "Folder", hint="Such as src. Default: the top."),
            RecordInput("recipe.target", "Target"),
            RecordInput("recipe.output", "Program", hint="Its path after the build."),
            RecordInput(
                "recipe.compilers", "Compilers", InputKind.WORDS, "The first found is used."
            ),
            RecordInput("recipe.commands", "Commands", InputKind.LINES, "One per line."),
            RecordInput(
                "recipe.variables", "Variables", InputKind.PAIRS, "One NAME=value per line."
            ),
            RecordInput(
                "tools", "Required tools", InputKind.TOOLS, "Such as cargo 1.75, one per line."
            ),
        ),
    ),
    InputGroup(
        "Bench and nets",
        (
            RecordInput("bench.command", "Bench command"),
            RecordInput(
                "bench.pattern", "Pattern for the node count", hint="Default: the usual format."
            ),
            RecordInput("bench.must_match", "The bench must match the commit's", InputKind.TICK),
            RecordInput("nets.use", "Nets", InputKind.CHOICE, options=_NETS),
            RecordInput("nets.name", "Variable or option"),
            RecordInput("nets.pattern", "Pattern for net names"),
            RecordInput("nets.default", "Default net"),
            RecordInput(
                "nets.files",
                "Files that name built-in nets",
                InputKind.WORDS,
                "Default: Stockfish's.",
            ),
        ),
    ),
    InputGroup(
        "Machines",
        (
            RecordInput("speed.reference", "Reference speed, nodes per second", InputKind.NUMBER),
            RecordInput("speed.floor", "Minimum speed, nodes per second", InputKind.NUMBER),
            RecordInput(
                "speed.relief",
                "Allowance for many cores",
                InputKind.NUMBER,
                "With 3, the cores of a large machine may be four times slower.",
            ),
            RecordInput("memory.machine", "Memory per machine, MiB", InputKind.NUMBER),
            RecordInput("memory.process", "Memory per process, MiB", InputKind.NUMBER),
            RecordInput("memory.thread", "Memory per thread, MiB", InputKind.NUMBER),
            RecordInput("cpu_flags", "Processor features", InputKind.WORDS),
            RecordInput("systems", "Systems", InputKind.WORDS, "Default: all."),
            RecordInput("share", "Share relative to other engines", InputKind.NUMBER),
            RecordInput("sandboxed", "Only on machines with a sandbox", InputKind.TICK),
            RecordInput("recipe.portable", "One build serves all machines", InputKind.TICK),
        ),
        folded=True,
    ),
)
INPUTS = {each.name: each for group in GROUPS for each in group.inputs}


# From a record to texts.


def spell_record(record: EngineRecord) -> dict[str, str]:
    """The texts of all inputs, presets included."""
    plain = msgspec.to_builtins(record)
    defaults = msgspec.to_builtins(_with_defaults())
    texts = {
        name: _spell(_find(plain, name, _find(defaults, name, "")), each.kind)
        for name, each in INPUTS.items()
    }
    for number, preset in enumerate(record.presets):
        texts[f"preset.{number}.name"] = preset.name
        texts[f"preset.{number}.settings"] = _join_pairs(preset.settings)
    return texts


def _with_defaults() -> object:
    """The defaults of all fields, which encoded records omit."""
    record = EngineRecord(name="x")
    parts = ("recipe", "memory", "speed", "bench", "nets")
    plain = msgspec.structs.asdict(record)
    return plain | {part: msgspec.structs.asdict(getattr(record, part)) for part in parts}


def _find(plain: object, name: str, otherwise: object) -> object:
    found = plain
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            return otherwise
        found = found[part]
    return found


def _spell(value: object, kind: InputKind) -> str:
    if value is None:
        return ""
    if kind is InputKind.TICK:
        return "1" if value else ""
    if kind is InputKind.NUMBER:
        return f"{value:g}" if isinstance(value, float) and value < 1e6 else _spell_number(value)
    if isinstance(value, dict):
        return _join_pairs(value)
    if kind is InputKind.TOOLS and isinstance(value, list | tuple):
        return "\n".join(f"{each['name']} {each.get('version', '')}".strip() for each in value)
    if isinstance(value, list | tuple):
        return (" " if kind is InputKind.WORDS else "\n").join(map(str, value))
    return str(value)


def _spell_number(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _join_pairs(values: Mapping[str, object]) -> str:
    return "\n".join(f"{name}={value}" for name, value in values.items())


# From texts to a record.


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """The record that was typed, or its errors by input."""

    record: EngineRecord | None
    errors: Mapping[str, str]


def read_record(texts: Texts) -> ReadRecord:
    """Read a record. Decoding reports one error at a time, so that each wrong field is left out and
    decoding repeated until all errors are known."""
    errors = dict[str, str]()
    while True:
        try:
            record = ENGINE_RECORD.read(msgspec.json.encode(_make_plain(texts, errors)))
            return ReadRecord(None if errors else record, errors)
        except WireFault as fault:
            found = place_fault(fault)
            if errors.keys() & found.keys() or "" in found:
                return ReadRecord(None, errors | found)
            errors |= found


def _make_plain(texts: Texts, wrong: Collection[str]) -> dict[str, object]:
    plain: dict[str, object] = {"name": "x"} if "name" in wrong else {}
    if "presets" not in wrong:
        plain["presets"] = list(_read_presets(texts))
    for name, each in INPUTS.items():
        value = _read(texts.get(name, "").strip(), each.kind)
        if value is not None and name not in wrong:
            _put(plain, name, value)
    return plain


def _put(plain: dict[str, object], name: str, value: object) -> None:
    first, _, second = name.partition(".")
    if not second:
        plain[first] = value
        return
    part = plain.setdefault(first, {})
    assert isinstance(part, dict), name
    part[second] = value


def _read(text: str, kind: InputKind) -> object:
    """The value of an input; None leaves the field at its default."""
    match kind:
        case InputKind.TICK:
            return bool(text)
        case InputKind.NUMBER:
            return _read_number(text) if text else None
        case InputKind.CHOICE:
            return text or None
        case InputKind.WORDS:
            return text.replace(",", " ").split()
        case InputKind.LINES:
            return list(_lines(text))
        case InputKind.PAIRS:
            return _read_pairs(text)
        case InputKind.TOOLS:
            return [_read_tool(line) for line in _lines(text)]
        case _:
            return text


def _read_number(text: str) -> object:
    """The number. Any other text is returned as it is, and decoding the record then reports it."""
    try:
        found = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        return text
    if found != found or found in (float("inf"), float("-inf")):
        return text
    return int(found) if found.is_integer() else found


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if line.strip())


def _read_pairs(text: str) -> dict[str, str]:
    parts = (line.partition("=") for line in _lines(text))
    return {name.strip(): value.strip() for name, _, value in parts}


def _read_tool(line: str) -> dict[str, str]:
    name, _, version = line.partition(" ")
    return {"name": name, "version": version.strip()}


def _read_presets(texts: Texts) -> Iterator[dict[str, object]]:
    """The presets. A row without a name is a preset that was removed."""
    for number in range(MOST_PRESETS):
        name = texts.get(f"preset.{number}.name", "").strip()
        if name:
            settings = _read_pairs(texts.get(f"preset.{number}.settings", ""))
            yield {"name": name, "settings": settings}


def place_fault(fault: Exception) -> dict[str, str]:
    """The message of an error by the name of its input; the name is empty if it belongs to none."""
    fields = fault.fields if isinstance(fault, Fault) else {}
    place = str(fields.get("field", "")).partition("[")[0]
    known = place if place in INPUTS else "presets" if place == "presets" else ""
    if not known:
        return {"": str(fault)}
    return {known: say_plainly(known, str(fields.get("text") or NEEDED))}


def count_presets(texts: Texts) -> int:
    """How many rows of presets a form shows: the filled ones and a few more."""
    filled = [number for number in range(MOST_PRESETS) if texts.get(f"preset.{number}.name")]
    return min(MOST_PRESETS, (filled[-1] + 1 if filled else 0) + BLANK_PRESETS)


# Differences between two records, for their history.


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A changed field. An empty text means that the field was absent."""

    label: str
    before: str
    after: str


def list_changes(before: EngineRecord | None, after: EngineRecord) -> tuple[FieldChange, ...]:
    """The changes from one version of a record to the next. For the first version: all fields that
    differ from their defaults."""
    old, new = spell_record(before or EngineRecord(name=after.name)), spell_record(after)
    names = dict.fromkeys((*old, *new))
    return tuple(_list_texts(names, old, new))


def _list_texts(names: Iterable[str], old: Texts, new: Texts) -> Iterator[FieldChange]:
    for name in names:
        was, now = old.get(name, ""), new.get(name, "")
        if was != now:
            yield FieldChange(_label(name, new), was, now)


def _label(name: str, texts: Texts) -> str:
    if name in INPUTS:
        return INPUTS[name].label
    number = name.split(".")[1]
    return f"Preset {texts.get(f'preset.{number}.name') or int(number) + 1}"
