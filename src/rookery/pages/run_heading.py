"""The head of a run's pages: what its two sides are called, and where it stands in a few words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rookery.model.kinds import SpsaTuning
from rookery.model.plan import Plan, Side
from rookery.model.run import Run
from rookery.model.task import Task
from rookery.pages.formatting import Moment, format_ago, format_duration
from rookery.pages.linked_text import TextPiece, split_links
from rookery.pages.run_description import (
    SHORT,
    describe_conditions,
    describe_question,
    find_diff_address,
)
from rookery.pages.run_row import StatusLabel, Tone, label_status
from rookery.rules.diagnosis import RunDiagnosis, RunFinding

STARTING = StatusLabel("starting", Tone.LIVE, "◔")
STALLED = StatusLabel("stalled", Tone.YELLOW, "◐")
FAILING = StatusLabel("failing", Tone.RED, "▲")
_STAGES = {
    RunFinding.STARTING: STARTING,
    RunFinding.STALLED: STALLED,
    RunFinding.FAILING: FAILING,
}
LONGEST_OPTIONS = 60
TABS = (
    ("", "Overview"),
    ("elo", "Live Elo"),
    ("games", "Games"),
    ("tasks", "Tasks"),
    ("stats", "Statistics"),
    ("compare", "What if"),
)
WITHOUT_TUNES = {"elo", "stats", "compare"}


@dataclass(frozen=True, slots=True)
class RunHeading:
    """What stands above every page of a run."""

    run: Run
    new: str
    base: str
    question: str
    conditions: str
    difference: str
    created: Moment
    info: tuple[TextPiece, ...]
    message: tuple[TextPiece, ...]
    """What the author of the new side wrote, where the submitter wrote something else."""
    tab: str = ""
    """The page that is shown, by the last part of its address."""

    @property
    def tabs(self) -> tuple[tuple[str, str, bool], ...]:
        return tuple(list_run_tabs(self))


def cut_bench(message: str) -> str:
    """A commit's message without its last line where that tells the bench, which the settings show
    by itself."""
    text, _, last = message.strip().rpartition("\n")
    return text.rstrip() if last.lower().startswith("bench:") else message.strip()


def make_run_heading(run: Run, now: datetime, tab: str = "") -> RunHeading:
    new, base = name_sides(run)
    info, message = run.plan.info.strip(), cut_bench(run.plan.sides[0].message)
    return RunHeading(
        run=run,
        new=new,
        base=base,
        question=describe_question(run),
        conditions=describe_conditions(run),
        difference=find_diff_address(run),
        created=format_ago(run.created, now),
        info=split_links(info),
        message=split_links("" if message in info else message),
        tab=tab,
    )


def list_run_tabs(heading: RunHeading) -> Iterator[tuple[str, str, bool]]:
    """The pages of a run: address, word and whether it is the one that is shown."""
    here = f"/runs/{heading.run.id}"
    for name, word in TABS:
        tune = isinstance(heading.run.kind, SpsaTuning)
        if not (tune and name in WITHOUT_TUNES):
            yield (f"{here}/{name}" if name else here), word, name == heading.tab


# What the two sides are called. Tags alone often agree: a test of options or of a net.


def name_sides(run: Run) -> tuple[str, str]:
    """Names that tell the sides apart; the second is empty for a tune, which has one."""
    new, base = run.plan.sides[:2]
    if isinstance(run.kind, SpsaTuning):
        return new.tag, ""
    if new.engine != base.engine:
        return f"{new.engine} {new.tag}", f"{base.engine} {base.tag}"
    if new.tag != base.tag:
        return new.tag, base.tag
    for one, other in _list_differences(run.plan, new, base):
        if one != other:
            return f"{new.tag} {one}".strip(), f"{base.tag} {other}".strip()
    return new.tag, "itself"


def _list_differences(plan: Plan, new: Side, base: Side) -> Iterator[tuple[str, str]]:
    """Pairs of words for the sides, of which the first that differ tell them apart."""
    yield _short(new), _short(base)
    yield _name_options(new, base), _name_options(base, new)
    yield " ".join(new.nets), " ".join(base.nets)
    yield f"at {plan.side_tc(new)}", f"at {plan.side_tc(base)}"
    yield f"with {plan.side_threads(new)} threads", f"with {plan.side_threads(base)} threads"


def _name_options(side: Side, other: Side) -> str:
    """The options of a side that the other has not."""
    theirs = set(_options(other))
    found = " ".join(option for option in _options(side) if option not in theirs)
    return f"with {found[:LONGEST_OPTIONS]}" if found else "without"


def _options(side: Side) -> list[str]:
    return [*side.options.split(), *(f"{name}={value}" for name, value in side.uci)]


def _short(side: Side) -> str:
    return (side.binary or side.commit)[:SHORT]


# Where a run stands, in more words than a list has room for.


@dataclass(frozen=True, slots=True)
class RunStage:
    """The state of a run, what follows from it, and why nothing moves where nothing does."""

    label: StatusLabel
    detail: str = ""
    reason: str = ""


def describe_stage(
    run: Run, diagnosis: RunDiagnosis | None, playing: Sequence[Task], now: datetime
) -> RunStage:
    label = label_status(run)
    if diagnosis is None:
        return RunStage(label)
    reason = _sentence(diagnosis.sentence)
    match diagnosis.finding:
        case RunFinding.RUNNING | RunFinding.FINISHED | RunFinding.STOPPED_BY_ERROR:
            return RunStage(label)
        case RunFinding.STARTING:
            return RunStage(STARTING, describe_first_results(run, playing, now))
        case RunFinding.AWAITING_APPROVAL:
            return RunStage(label, reason)
        case finding:
            return RunStage(_STAGES.get(finding, label), reason=reason)


def describe_first_results(run: Run, playing: Sequence[Task], now: datetime) -> str:
    """When the first report is to be expected; nobody knows how long an engine takes to build."""
    if not playing:
        return ""
    span = min(_seconds_to_report(run, task) for task in playing)
    if all(task.machine.nps == 0 for task in playing):
        return f"machines build the engines, first results about {format_duration(span)} after that"
    begun = min(task.created for task in playing)
    left = span - (now - begun).total_seconds()
    if left < 1:
        return "first results any moment now"
    return f"first results in about {format_duration(left)}"


def _seconds_to_report(run: Run, task: Task) -> float:
    """How long a machine plays before it has a batch to report."""
    slots = max(1, run.demands.slots(task.machine.cores))
    return run.game_seconds * max(1.0, run.kind.step / slots)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
