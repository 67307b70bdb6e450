"""The pages of a run, what a run has to do with an earlier one, and its state in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rookery.core.errors import make_sentence
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.model.timecontrol import base_seconds
from rookery.server.farm.rules.diagnosis import RunDiagnosis, RunFinding
from rookery.server.http.pages.formatting import format_duration, format_time_control
from rookery.server.show.kinds import page_of
from rookery.server.show.run_row import StatusLabel, Tone, label_status

STARTING = StatusLabel("starting", Tone.LIVE, "◔")
STALLED = StatusLabel("stalled", Tone.YELLOW, "◐")
FAILING = StatusLabel("failing", Tone.RED, "▲")
_STAGES = {
    RunFinding.STARTING: STARTING,
    RunFinding.STALLED: STALLED,
    RunFinding.FAILING: FAILING,
}
TABS = (
    ("", "Overview"),
    ("elo", "Live Elo"),
    ("games", "Games"),
    ("tasks", "Tasks"),
    ("stats", "Statistics"),
    ("compare", "What if"),
)


def list_run_tabs(run: Run, shown: str) -> Iterator[tuple[str, str, bool]]:
    """The pages of a run: address, label and whether it is the current one. `shown` is the last
    part of that one's address."""
    here, hidden = f"/runs/{run.id}", page_of(run.kind).hidden_tabs
    for name, word in TABS:
        if name not in hidden:
            yield (f"{here}/{name}" if name else here), word, name == shown


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
