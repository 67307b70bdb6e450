"""The preview of a submission in words: what is tested, how long it takes, what it costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from rookery.core.model.engine import EngineRecord
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Need, NeedWord
from rookery.core.model.run import Run
from rookery.core.protocol.v1 import ExpectedLength, Preview
from rookery.core.stats.sprt import EloModel
from rookery.server.farm.rules.assignment import share
from rookery.server.farm.rules.review import (
    Hint,
    ReviewFacts,
    SourceFacts,
    is_built,
    review_submission,
)
from rookery.server.http.pages.formatting import (
    format_count,
    format_decimal,
    format_duration,
    format_percent,
    format_plural,
)
from rookery.server.runs.submissions import MadeRun, make_preview
from rookery.server.show.run_description import describe_run
from rookery.server.show.run_parts import SCALES

NOBODY = "No connected machine can play it."
NEED_WORDS = {
    NeedWord.SYZYGY: "{value}-men tablebases",
    NeedWord.VARIANT: "the variant {value}",
    NeedWord.TEAM: "an owner in the team {value}",
    NeedWord.SANDBOX: "a sandbox for engines",
    NeedWord.CPU_FLAG: "a processor with {value}",
    NeedWord.SYSTEM: "the system {value}",
    NeedWord.TOOL: "{value}",
}
"""What a machine with Rookery's own worker may still lack."""


@dataclass(frozen=True, slots=True)
class PreviewData:
    """The data for a preview."""

    made: MadeRun
    machines: Sequence[Machine]
    others: Sequence[Run]
    """The runs that are active now, or could be."""
    record: EngineRecord
    earlier_runs: int | None = None
    looked_up: bool = True


@dataclass(frozen=True, slots=True)
class LengthRow:
    """How a sequential test ends for one true Elo."""

    elo: str
    passes: str
    games: str
    lasting: str


@dataclass(frozen=True, slots=True)
class PreviewView:
    """The panel beside the form."""

    name: str
    sentence: str
    lasting: str
    cost: str
    others: str
    lengths: tuple[LengthRow, ...]
    warnings: tuple[str, ...]
    hints: tuple[Hint, ...]
    looked_up: bool
    reads_sources: bool
    """Whether there are sources to review after the submission."""


def view_preview(data: PreviewData) -> PreviewView:
    """The view of a preview. It computes lengths, so call it in a thread."""
    # Whether the sources have been read is stated below the hints.
    run, facts = data.made.run, ReviewFacts(data.earlier_runs, SourceFacts())
    preview = make_preview(run, data.made.warnings, data.machines)
    part = _share_of(run, data.others)
    return PreviewView(
        name=preview.name,
        sentence=describe_run(run),
        lasting=_describe_lasting(preview, part),
        cost=_describe_cost(run, preview),
        others=_describe_others(run, preview, data.others, part),
        lengths=tuple(_list_lengths(preview)),
        warnings=tuple(each[:1].upper() + each[1:] for each in preview.warnings),
        hints=review_submission(run, data.record, facts),
        looked_up=data.looked_up,
        reads_sources=all(is_built(side, data.record) for side in run.plan.sides),
    )


def _share_of(run: Run, others: Sequence[Run]) -> float:
    """The share of the machines that this run should get beside the others."""
    weight = share(run, 0)
    return weight / (weight + sum(each.share for each in others))


def _describe_lasting(preview: Preview, part: float) -> str:
    if preview.fleet.hours is UNSET:
        return NOBODY
    alone = preview.fleet.hours * 3600
    text = f"About {format_duration(alone)} with all connected machines"
    beside = alone / part
    if beside > 1.2 * alone:
        return f"{text}, about {format_duration(beside)} alongside the tests playing now."
    return f"{text}."


def _describe_cost(run: Run, preview: Preview) -> str:
    games = f"about {format_count(preview.games)} games"
    if not preview.lengths:
        games = format_plural(run.plan.games, "game")
    hours = preview.core_hours
    work = f"{format_count(hours)} core hours" if hours >= 10 else f"{hours:.1f} core hours"
    return f"{games[:1].upper()}{games[1:]}, {work} on a machine of reference speed."


def _describe_others(run: Run, preview: Preview, others: Sequence[Run], part: float) -> str:
    fleet = preview.fleet
    able = f"{format_plural(fleet.machines, 'machine')} with {format_plural(fleet.cores, 'core')}"
    if not fleet.machines:
        return describe_needs(run.demands.needs)
    if not others:
        return f"{able} can play it; no other test is waiting for them."
    waiting = format_plural(len(others), "other test")
    if run.plan.priority > max(each.plan.priority for each in others):
        return f"{able} can play it. Its priority takes them all from {waiting}."
    return (
        f"{able} can play it. Alongside {waiting} it should get {format_percent(part)} of them;"
        " the others slow down by as much."
    )


def describe_needs(needs: Sequence[Need]) -> str:
    """What a machine must have to play a test, in words; empty if any machine will do."""
    if not needs:
        return ""
    if all(need.word is NeedWord.STOCKFISH_BUILD for need in needs):
        return "It needs a machine that can build Stockfish."
    more = [
        NEED_WORDS[need.word].format(value=" ".join((need.value, *_spell_version(need))))
        for need in needs
        if need.word in NEED_WORDS
    ]
    return "It needs " + ", ".join(("a machine with Rookery's own worker", *more)) + "."


def _spell_version(need: Need) -> Iterator[str]:
    if need.version:
        yield ".".join(map(str, need.version))


def _list_lengths(preview: Preview) -> Iterator[LengthRow]:
    sprt = preview.args.get("sprt")
    scale = SCALES[sprt.model if sprt is not None else EloModel.NORMALISED]
    for each in preview.lengths:
        yield LengthRow(
            elo=f"{format_decimal(each.elo)} {scale}",
            passes=format_percent(each.pass_chance),
            games=f"{format_count(each.early_games)} to {format_count(each.late_games)}",
            lasting=_lasting_of(each, preview),
        )


def _lasting_of(length: ExpectedLength, preview: Preview) -> str:
    if preview.fleet.hours is UNSET or not preview.games:
        return ""
    return format_duration(preview.fleet.hours * 3600 * length.mean_games / preview.games)
