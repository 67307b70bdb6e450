"""The form of a new run as texts: read into the fields of a submission, and filled in from them.

The inputs have the names of a submission's fields, with a dot for those in a group (`sprt.elo0`).
Empty inputs are left out. This module does not judge submissions; that is up to the use case, which
commands and scripts call too.
"""

from collections.abc import Iterable, Mapping

import msgspec

from rookery.core.model.engine import EngineRecord, PresetRecord
from rookery.core.model.kinds import CHOSEN, ONE_PROGRAM
from rookery.core.model.presets import read_preset
from rookery.core.model.run import Run
from rookery.core.protocol.codec import WireFault
from rookery.core.protocol.runs import PREFIXES, Submission, flatten, read_submitted
from rookery.core.stats.spsa import Tune
from rookery.server.http.form import TICKED, ParsedForm, Texts
from rookery.server.runs.submit.inputs import FORM
from rookery.server.show.kinds import FORM_PAGES, page_of

ROUNDING = 0.5
"""How values of integer parameters are rounded in a tune: to the nearest."""
USUAL_TEXTS: Texts = {"adjudication": TICKED, "scaling": "nps", "kind": "sprt"}
TUNED_INPUTS = (
    *("new_tag", "resolved_new", "new_signature", "new_options", "new_nets", "new_uci"),
    *("new_engine", "new_binary", "msg_new"),
)
TWINS = {name.replace("new", "base"): name for name in TUNED_INPUTS}
BASE_INPUTS = TWINS.keys() | {"base_repo"}
"""Inputs of the base side. In a tune they equal those of the new side."""
KEPT_BY_ENGINES = ("new_tag", "info", "priority", "throughput")
"""Inputs about the test itself, which are kept when the engine is changed."""


def read_form(texts: Texts) -> ParsedForm:
    """The fields of a submission. Texts that are not valid numbers and the like are among the
    errors."""
    unused = {
        name
        for page in FORM_PAGES.values()
        if page.form.choice != texts.get("kind")
        for name in page.form.inputs
    }
    parsed = FORM.parse(texts, unused)
    return ParsedForm(_name_sides(_without_halves(parsed.fields)), parsed.errors)


def read_submission_form(texts: Texts) -> Submission:
    """The submission in a form, with the errors of the form among its faults."""
    read = read_form(texts)
    return read_submitted(read.fields, read.faults, sum(map(len, texts.values())))


def place_faults(faults: Iterable[WireFault], kind: str) -> dict[str, str]:
    """The messages of faults by input. A tune's base is its new side, of which an error is told
    once."""
    errors = FORM.place(faults)
    twins = TWINS if kind in ONE_PROGRAM else {}
    return {name: text for name, text in errors.items() if twins.get(name) not in errors}


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
    return kept | {base: given[new] for base, new in TWINS.items() if new in given}


# From the fields of a submission to the texts of inputs.


def spell_fields(fields: Mapping[str, object]) -> dict[str, str]:
    """The texts of inputs for these fields. Fields that the form does not have are left out."""
    kind = next((name for name in CHOSEN if name in fields), "games")
    repository = {"tests_repo": fields["new_repo"]} if "new_repo" in fields else {}
    return {"kind": kind, **FORM.spell({**fields, **repository})}


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
