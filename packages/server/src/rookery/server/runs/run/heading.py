"""The heading of a run's pages, and the run's state in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rookery.core.errors import make_sentence
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.model.timecontrol import base_seconds
from rookery.server.farm.rules.diagnosis import RunDiagnosis, RunFinding
from rookery.server.farm.show.kinds import page_of
from rookery.server.farm.show.run_description import (
    describe_conditions,
    describe_question,
    link_difference,
    name_sides,
)
from rookery.server.farm.show.run_row import StatusLabel, Tone, label_status
from rookery.server.http.pages.formatting import (
    Moment,
    format_ago,
    format_duration,
    format_time_control,
)
from rookery.server.http.pages.linked_text import TextPiece, split_links

STARTING = StatusLabel("starting", Tone.LIVE, "◔")
STALLED = StatusLabel("stalled", Tone.YELLOW, "◐")
FAILING = StatusLabel("failing", Tone.RED, "▲")
_STAGES = {
    RunFinding.STARTING: STARTING,
    RunFinding.STALLED: STALLED,
    RunFinding.FAILING: FAILING,
}
EARLIER = "after an earlier test"
TABS = (
    ("", "Overview"),
    ("elo", "Live Elo"),
    ("games", "Games"),
    ("tasks", "Tasks"),
    ("stats", "Statistics"),
    ("compare", "What if"),
)


@dataclass(frozen=True, slots=True)
class RunHeading:
    """The heading of every page of a run."""

    run: Run
    new: str
    base: str
    question: str
    conditions: str
    difference: str
    created: Moment
    info: tuple[TextPiece, ...]
    message: tuple[TextPiece, ...]
    """The commit message of the new side, if it differs from the submitter's description."""
    tab: str = ""
    """The page that is shown, by the last part of its address."""
    earlier: str = EARLIER
    """How this run relates to the run that it was made from, if any."""

    @property
    def tabs(self) -> tuple[tuple[str, str, bool], ...]:
        return tuple(list_run_tabs(self))


def cut_bench(message: str) -> str:
    """A commit message without a last line that has only the bench, which the settings show."""
    text, _, last = message.strip().rpartition("\n")
    return text.rstrip() if last.lower().startswith("bench:") else message.strip()


def describe_earlier(run: Run, earlier: Run) -> str:
    """How a run relates to the one that it was made from: it confirms a pass with longer games, for
    example."""
    tag, tc = earlier.plan.new.tag, earlier.plan.time_control
    again = f"again after {tag}"
    if run.kind.hypotheses is None or earlier.kind.hypotheses is None:
        return again
    passed = earlier.kind.outcome(earlier.tally.results).is_pass
    same = run.plan.new.commit == earlier.plan.new.commit
    longer = base_seconds(run.plan.time_control) > base_seconds(tc)
    if not (passed and same and longer):
        return again
    return f"confirms {tag} at {format_time_control(tc)}"


def make_run_heading(
    run: Run, now: datetime, tab: str = "", earlier: Run | None = None
) -> RunHeading:
    new, base = name_sides(run)
    info, message = run.plan.info.strip(), cut_bench(run.plan.new.message)
    return RunHeading(
        run=run,
        new=new,
        base=base,
        question=describe_question(run),
        conditions=describe_conditions(run),
        difference=link_difference(run),
        created=format_ago(run.created, now),
        info=split_links(info),
        message=split_links("" if message in info else message),
        tab=tab,
        earlier=EARLIER if earlier is None else describe_earlier(run, earlier),
    )


def list_run_tabs(heading: RunHeading) -> Iterator[tuple[str, str, bool]]:
    """The pages of a run: address, label and whether it is the current one."""
    here = f"/runs/{heading.run.id}"
    hidden = page_of(heading.run.kind).hidden_tabs
    for name, word in TABS:
        if name not in hidden:
            yield (f"{here}/{name}" if name else here), word, name == heading.tab


# The state of a run, in more words than a list has room for.


@dataclass(frozen=True, slots=True)
class RunStage:
    """The state of a run, its consequences, and the reason if it does not progress."""

    label: StatusLabel
    detail: str = ""
    reason: str = ""


def describe_stage(
    run: Run, diagnosis: RunDiagnosis | None, playing: Sequence[Task], now: datetime
) -> RunStage:
    label = label_status(run)
    if diagnosis is None:
        return RunStage(label)
    reason = make_sentence(diagnosis.sentence)
    match diagnosis.finding:
        case RunFinding.RUNNING | RunFinding.FINISHED | RunFinding.STOPPED_BY_ERROR:
            return RunStage(label)
        case RunFinding.STARTING:
            begun = bool(run.tally.results.games)
            return RunStage(label if begun else STARTING, describe_next_results(run, playing, now))
        case RunFinding.AWAITING_APPROVAL:
            return RunStage(label, reason)
        case finding:
            return RunStage(_STAGES.get(finding, label), reason=reason)


def describe_next_results(run: Run, playing: Sequence[Task], now: datetime) -> str:
    """When machines that have not reported yet should report. The time to build an engine is
    unknown."""
    if not playing:
        return ""
    which = "next results" if run.tally.results.games else "first results"
    span = min(_seconds_to_report(run, task) for task in playing)
    if all(task.machine.nps == 0 for task in playing):
        return f"machines build the engines, {which} about {format_duration(span)} after that"
    begun = min(task.created for task in playing)
    left = span - (now - begun).total_seconds()
    if left < 1:
        return f"{which} any moment now"
    return f"{which} in about {format_duration(left)}"


def _seconds_to_report(run: Run, task: Task) -> float:
    """How long a machine plays until it has a batch to report."""
    slots = max(1, run.demands.slots(task.machine.cores))
    return run.game_seconds * max(1.0, run.kind.step / slots)
