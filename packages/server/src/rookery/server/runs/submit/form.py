"""The form of a new run as texts: read into the fields of a submission, and filled in from them.

The inputs have the names of a submission's fields, with a dot for those in a group (`sprt.elo0`).
Empty inputs are left out. This module does not judge submissions; that is up to the use case, which
commands and scripts call too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from rookery.core.model.engine import EngineRecord, PresetRecord
from rookery.core.model.kinds import CHOSEN, ONE_PROGRAM
from rookery.core.model.presets import read_preset
from rookery.core.model.run import Run
from rookery.core.protocol.runs import PREFIXES, flatten
from rookery.core.stats.spsa import Tune
from rookery.server.farm.show.kinds import FORM_PAGES, page_of
from rookery.server.farm.show.run_parts import Input

Texts = Mapping[str, str]
"""The texts of the inputs by name. A ticked checkbox has `1`."""


WHOLE_NUMBER = "expected a whole number"
NUMBER = "expected a number"
NO_PAIR = "expected a line such as Name = value"
TICKED = "1"
ROUNDING = 0.5
"""How values of integer parameters are rounded in a tune: to the nearest."""
INPUTS: Mapping[str, Input] = {
    **dict.fromkeys(
        (
            *("new_tag", "base_tag", "resolved_new", "resolved_base", "tests_repo", "base_repo"),
            *("new_signature", "base_signature", "new_options", "base_options", "info", "tc"),
            *("new_tc", "book", "book_sri", "new_binary", "base_binary", "new_engine"),
            *("base_engine", "arch_filter", "compiler", "variant", "scaling", "pgn_detail"),
            *("master_repo", "rescheduled_from", "msg_new", "msg_base"),
        ),
        Input.TEXT,
    ),
    **dict.fromkeys(
        (
            *("num_games", "threads", "new_threads", "base_threads", "book_depth", "priority"),
            *("throughput", "syzygy_men", "time_margin_ms", "resign.score"),
            *("resign.moves", "draw.from_move", "draw.moves", "draw.score"),
        ),
        Input.WHOLE,
    ),
    "reference_nps": Input.NUMBER,
    **dict.fromkeys(
        ("auto_purge", "adjudication", "mirrored", "strict_pv", "resign.two_sided"), Input.TICK
    ),
    **dict.fromkeys(("new_nets", "base_nets"), Input.NAMES),
    **dict.fromkeys(("new_uci", "base_uci"), Input.PAIRS),
    **{name: kind for page in FORM_PAGES.values() for name, kind in page.form.inputs.items()},
}
UNSEEN = frozenset({"rescheduled_from", "msg_new", "msg_base"})
"""Inputs that the page does not show; only scripts send them."""
USUAL_TEXTS: Texts = {"adjudication": TICKED, "scaling": "nps", "kind": "sprt"}
GROUPS = (*sorted(CHOSEN), "resign", "draw")
TUNED_INPUTS = (
    *("new_tag", "resolved_new", "new_signature", "new_options", "new_nets", "new_uci"),
    *("new_engine", "new_binary", "msg_new"),
)
BASE_INPUTS = frozenset(name.replace("new", "base") for name in TUNED_INPUTS) | {"base_repo"}
"""Inputs of the base side. In a tune they equal those of the new side."""
FOLDED = frozenset(
    {
        *(name for page in FORM_PAGES.values() for name in page.form.folded),
        *("resolved_new", "resolved_base", "base_repo", "base_engine", "new_tc", "new_threads"),
        *("base_threads", "book_depth", "book_sri"),
        *("new_nets", "base_nets", "new_uci", "base_uci", "resign.score", "resign.moves"),
        *("draw.from_move", "draw.moves", "draw.score", "syzygy_men", "variant", "scaling"),
        *("time_margin_ms", "pgn_detail", "arch_filter", "compiler", "master_repo"),
        *("reference_nps", "new_binary", "base_binary"),
    }
)
"""Inputs that most tests do not change."""
KEPT_BY_ENGINES = ("new_tag", "info", "priority", "throughput")
"""Inputs about the test itself, which are kept when the engine is changed."""
PLACES = {
    **{name: page.form.error_input for name, page in FORM_PAGES.items() if name in CHOSEN},
    "new_repo": "tests_repo",
}
"""The input beside which an error of a whole group is shown."""


@dataclass(frozen=True, slots=True)
class ReadForm:
    """The fields that a form contains, and its errors by name of input."""

    fields: Mapping[str, object]
    errors: Mapping[str, str] = field(default_factory=dict)


def read_form(texts: Texts) -> ReadForm:
    """The fields of a submission. Texts that are not valid numbers and the like are among the
    errors."""
    given, errors = dict[str, object](), dict[str, str]()
    for name, kind in _list_used(texts):
        text = texts.get(name, "").strip()
        try:
            value = _read_value(text, kind)
        except ValueError as wrong:
            errors[name] = str(wrong)
            continue
        if value is not None:
            _put(given, name, value)
    return ReadForm(_name_sides(_without_halves(given)), errors)


def _list_used(texts: Texts) -> Iterator[tuple[str, Input]]:
    """The inputs that apply to the chosen kind of run."""
    chosen = texts.get("kind")
    unused = {
        name
        for page in FORM_PAGES.values()
        if page.form.choice != chosen
        for name in page.form.inputs
    }
    return ((name, kind) for name, kind in INPUTS.items() if name not in unused)


def _read_value(text: str, kind: Input) -> object:
    """The value of a text; None if it is empty. Raises ValueError."""
    if kind is Input.TICK:
        return text == TICKED
    if not text:
        return None
    match kind:
        case Input.WHOLE:
            return _read_whole(text)
        case Input.NUMBER:
            return _read_number(text)
        case Input.NAMES:
            return text.replace(",", " ").split()
        case Input.PAIRS:
            return dict(map(_read_pair, filter(str.strip, text.splitlines())))
        case _:
            return text


def _read_whole(text: str) -> int:
    digits = text.removeprefix("-").replace(",", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise ValueError(WHOLE_NUMBER)
    return int(text.replace(",", ""))


def _read_number(text: str) -> float:
    plain = text.isascii() and len(text) < 40 and not set(text) - set("0123456789.+-eE")
    try:
        found = float(text) if plain else None
    except ValueError:
        found = None
    if found is None or abs(found) > 1e15:
        raise ValueError(NUMBER)
    return found


def _read_pair(line: str) -> tuple[str, str]:
    name, mark, value = line.partition("=")
    if not mark or not name.strip():
        raise ValueError(NO_PAIR)
    return name.strip(), value.strip()


def _put(given: dict[str, object], name: str, value: object) -> None:
    group, dot, inner = name.partition(".")
    if not dot:
        given[name] = value
        return
    held = given.setdefault(group, {})
    if isinstance(held, dict):
        held[inner] = value


def _without_halves(given: dict[str, object]) -> dict[str, object]:
    """Remove a rule of which only an unticked checkbox is left."""
    resign = given.get("resign")
    if isinstance(resign, dict) and resign.keys() <= {"two_sided"}:
        del given["resign"]
    return given


def _name_sides(given: dict[str, object]) -> dict[str, object]:
    """The base has the engine and the repository of the new side unless it names others."""
    if "new_engine" in given:
        given.setdefault("base_engine", given["new_engine"])
    if ONE_PROGRAM & given.keys():
        return _tune_one_program(given)
    if "base_repo" in given and "tests_repo" in given:
        given["new_repo"] = given.pop("tests_repo")
    return given


def _tune_one_program(given: dict[str, object]) -> dict[str, object]:
    """A tune plays a program against itself, whatever is in the inputs of the base."""
    kept = {name: value for name, value in given.items() if name not in BASE_INPUTS}
    twins = {name.replace("new", "base"): name for name in TUNED_INPUTS}
    return kept | {base: given[new] for base, new in twins.items() if new in given}


# From the fields of a submission to the texts of inputs.


def spell_fields(fields: Mapping[str, object]) -> dict[str, str]:
    """The texts of inputs for these fields. Fields that the form does not have are left out."""
    texts = {"kind": next((name for name in CHOSEN if name in fields), "games")}
    for name, value in _flatten_groups(fields):
        place = PLACES.get(name, name)
        if place in INPUTS and value is not None:
            texts[place] = _spell(value)
    return texts


def _flatten_groups(fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        if name in GROUPS and isinstance(value, dict):
            yield from ((f"{name}.{inner}", found) for inner, found in value.items())
        else:
            yield name, value


def _spell(value: object) -> str:
    match value:
        case bool():
            return TICKED if value else ""
        case float():
            return f"{value:.10g}"
        case dict():
            return "\n".join(f"{name} = {text}" for name, text in value.items())
        case list() | tuple():
            return " ".join(map(str, value))
        case _:
            return str(value)


def apply_preset(texts: Texts, preset: PresetRecord) -> dict[str, str]:
    """Apply a preset. Other inputs stay unchanged, except for a limit of games and a time control
    of the new side, which belonged to another test."""
    fields = read_preset(preset)
    laid = spell_fields(fields)
    if not fields.keys() & {*CHOSEN, "num_games"}:
        del laid["kind"]
    elif "num_games" not in fields:
        laid["num_games"] = ""
    if "tc" in fields:
        laid.setdefault("new_tc", "")
    return {**texts, **laid}


def begin_form(record: EngineRecord, own_repository: str, book: str) -> dict[str, str]:
    """The form as it is first shown for an engine: its first preset and the person's repository."""
    texts = {**USUAL_TEXTS, "new_engine": record.name, "book": book}
    texts |= {"base_tag": record.branch or "HEAD"}
    texts |= {"tc": "10+0.1", "sprt.elo0": "0", "sprt.elo1": "5", "threads": "1"}
    texts |= {"tests_repo": own_repository or record.source}
    if own_repository and record.recipe.kind != "stockfish" and own_repository != record.source:
        # Official workers play only Stockfish, with both sides from one repository.
        texts |= {"base_repo": record.source}
    return texts


# Filling in a form from another run.


def spell_run(run: Run) -> dict[str, str]:
    """The texts of inputs for a run like this one."""
    fields = msgspec.to_builtins(flatten(run.plan))
    if fields["new_tc"] == fields["tc"]:
        del fields["new_tc"]
    if run.kind.settings:
        fields[run.kind.settings] = page_of(run.kind).list_fields()
    unwanted = ("resolved_new", "resolved_base", "msg_new", "msg_base")
    texts = spell_fields({name: fields[name] for name in fields if name not in unwanted})
    return {"scaling": "nps", **texts, **_pins_of(run)}


def spell_tuned(run: Run, tune: Tune) -> dict[str, str]:
    """The form of a test of a tune's values: the commit with these values against the same commit
    without."""
    lines = (parameter.line for parameter in tune.parameters)
    values = " ".join(
        f"{line.name}={line.settle(theta, ROUNDING):.10g}"
        for line, theta in zip(lines, tune.thetas, strict=True)
    )
    texts = spell_run(run)
    options = texts.get("new_options", "")
    return {
        **{name: text for name, text in texts.items() if not name.startswith("spsa.")},
        "kind": "sprt",
        "num_games": "",
        "base_options": options,
        "new_options": f"{options} {values}".strip(),
        "info": f"Values of the tune {run.plan.new.tag}",
    }


def _pins_of(run: Run) -> dict[str, str]:
    """The texts that tie the branches of a form to the commits of a run, if the viewer may see
    them."""
    return {
        f"{prefix}_pin": f"{side.commit} {side.signature or '-'} {side.tag}"
        for prefix, side in zip(PREFIXES, run.plan.sides, strict=True)
        if side.commit.strip("0") and not side.binary
    }


def pin_commits(texts: Texts) -> dict[str, str]:
    """The texts of a form filled in from another run. A branch stands for the commit that it had in
    that run, until its name is changed or its latest commit is requested."""
    found = dict(texts)
    for side in PREFIXES:
        commit, bench, tag = (*found.get(f"{side}_pin", "").split(" ", 2), "", "", "")[:3]
        same = found.get(f"{side}_tag", "").strip() == tag and not found.get(f"{side}_latest")
        if commit and same:
            found[f"resolved_{side}"] = found.get(f"resolved_{side}") or commit
        elif commit and found.get(f"{side}_signature", "").strip() == bench:
            found[f"{side}_signature"] = ""
    return found
