"""The form of an engine's record. Each input has the name of its field."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from rookery.core.model.engine import EngineRecord, ToolRecord
from rookery.core.protocol.codec import WireFault
from rookery.server.http.form import (
    CHOICE,
    DIGITS,
    LINES,
    NUMBER,
    PAIRS,
    TICK,
    WHOLE,
    WORDS,
    DeclaredForm,
    Input,
    InputKind,
    ReadForm,
    Texts,
    declare,
    find_nothing,
    list_lines,
)

CheckRecord = Callable[[EngineRecord], Iterable[WireFault]]
BLANK_PRESETS = 2
MOST_PRESETS = 40
CODE = {"class": "code-text"}


def _read_tools(text: str) -> list[dict[str, str]]:
    parts = (line.partition(" ") for line in list_lines(text))
    return [{"name": name, "version": version.strip()} for name, _, version in parts]


def _spell_tools(tools: Iterable[ToolRecord]) -> str:
    return "\n".join(f"{each.name} {each.version}".strip() for each in tools)


def _spell_variables(values: Mapping[str, str]) -> str:
    return "\n".join(f"{name}={value}" for name, value in values.items())


TOOLS = InputKind(_read_tools, _spell_tools, "area", empty=[])
VARIABLES = replace(PAIRS, spell=_spell_variables)


@dataclass(frozen=True, slots=True)
class InputGroup:
    """Inputs that stand together on the page."""

    title: str
    inputs: tuple[Input, ...]
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
            Input("name", "Name", hint="A private engine is named TEAM~NAME."),
            Input("source", "Git repository", hint="The one with the main branch."),
            Input("branch", "Main branch", hint="Default: the repository's HEAD."),
            Input("team", "Team", hint="The team that owns it."),
            Input("private", "Private: only its team sees it", TICK),
        ),
    ),
    InputGroup(
        "Build",
        (
            Input("recipe.kind", "Build with", CHOICE, options=_RECIPES),
            Input("recipe.directory", "Folder", hint="Such as src. Default: the top."),
            Input("recipe.target", "Target"),
            Input("recipe.output", "Program", hint="Its path after the build."),
            Input("recipe.compilers", "Compilers", WORDS, "The first found is used."),
            Input("recipe.commands", "Commands", LINES, "One per line.", more=CODE),
            Input(
                "recipe.variables", "Variables", VARIABLES, "One NAME=value per line.", more=CODE
            ),
            Input("tools", "Required tools", TOOLS, "Such as cargo 1.75, one per line.", more=CODE),
        ),
    ),
    InputGroup(
        "Bench and nets",
        (
            Input("bench.command", "Bench command"),
            Input("bench.pattern", "Pattern for the node count", hint="Default: the usual format."),
            Input("bench.must_match", "The bench must match the commit's", TICK),
            Input("nets.use", "Nets", CHOICE, options=_NETS),
            Input("nets.name", "Variable or option"),
            Input("nets.pattern", "Pattern for net names"),
            Input("nets.default", "Default net"),
            Input(
                "nets.files",
                "Files that name built-in nets",
                WORDS,
                "Default: Stockfish's.",
            ),
        ),
    ),
    InputGroup(
        "Machines",
        (
            Input("speed.reference", "Reference speed, nodes per second", NUMBER),
            Input("speed.floor", "Minimum speed, nodes per second", NUMBER),
            Input(
                "speed.relief",
                "Allowance for many cores",
                NUMBER,
                "With 3, the cores of a large machine may be four times slower.",
            ),
            Input("memory.machine", "Memory per machine, MiB", WHOLE),
            Input("memory.process", "Memory per process, MiB", WHOLE),
            Input("memory.thread", "Memory per thread, MiB", WHOLE),
            Input("cpu_flags", "Processor features", WORDS),
            Input("systems", "Systems", WORDS, "Default: all."),
            Input("share", "Share relative to other engines", NUMBER),
            Input("sandboxed", "Only on machines with a sandbox", TICK),
            Input("recipe.portable", "One build serves all machines", TICK),
        ),
        folded=True,
    ),
)
TRIAL = declare(
    Input(
        "ref",
        "Branch, tag or commit to try",
        hint="Default: its main branch, or main.",
        more={"maxlength": 100},
    ),
    Input(
        "nodes",
        "Bench",
        DIGITS,
        "In nodes. Default: from the commit message.",
        more={"maxlength": 20},
    ),
)
INPUTS = declare(*(each for group in GROUPS for each in group.inputs))
PRESETS = declare(
    *(
        each
        for number in range(MOST_PRESETS)
        for each in (
            Input(f"preset.{number}.name", "Name", more={"maxlength": 100}),
            Input(f"preset.{number}.settings", "Settings", VARIABLES, more=CODE),
        )
    )
)
FORM = DeclaredForm({**INPUTS, **PRESETS}, {"presets": "presets"}, keeps_empty=True)


def list_shown_inputs(teams: Iterable[str], *, is_new: bool) -> dict[str, Input]:
    """The inputs on the page: those of a record and of a trial. The name of an engine never
    changes."""
    choices = tuple((name, name or "everybody's") for name in teams)
    name = INPUTS["name"] if is_new else Input("name", "Name", more={"readonly": True})
    own = declare(name, replace(INPUTS["team"], options=choices), Input("presets", "Presets"))
    return {**FORM.inputs, **own, **TRIAL}


# From a record to texts.


def spell_record(record: EngineRecord) -> dict[str, str]:
    """The texts of all inputs, presets included."""
    values: dict[str, Any] = {name: attrgetter(name)(record) for name in INPUTS}
    for number, preset in enumerate(record.presets):
        values |= {f"preset.{number}.name": preset.name}
        values |= {f"preset.{number}.settings": preset.settings}
    return dict.fromkeys(INPUTS, "") | FORM.spell(values)


# From texts to a record.


def read_record(texts: Texts, check: CheckRecord = find_nothing) -> ReadForm[EngineRecord]:
    """Read a record, or all that is wrong with it, also by rules of the site."""
    parsed = FORM.parse(texts)
    parsed.fields["presets"] = list(_list_presets(parsed.fields.pop("preset")))

    def find_faults(values: Mapping[str, Any]) -> Iterable[WireFault]:
        return check(EngineRecord(**{"name": "unnamed", **values}))

    return FORM.read_parsed(EngineRecord, parsed, find_faults)


def _list_presets(typed: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """The presets. A row without a name is a preset that was removed."""
    for number in range(MOST_PRESETS):
        if name := typed[f"{number}.name"]:
            yield {"name": name, "settings": typed.get(f"{number}.settings", {})}


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
