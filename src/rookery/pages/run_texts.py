"""What people take away from a run: its result as text, a tune's values, and where else to look."""

from collections.abc import Iterator
from dataclasses import dataclass

from rookery.farm.summaries import summary
from rookery.model.kinds import SprtTest, SpsaTuning
from rookery.model.run import Run
from rookery.model.timecontrol import base_seconds
from rookery.pages.formatting import format_plural
from rookery.pages.run_description import describe_question
from rookery.pages.run_heading import RunHeading
from rookery.pages.run_row import StatusLabel
from rookery.protocol.v1 import SummaryStyle
from rookery.stats.sprt import Verdict
from rookery.stats.spsa import as_lines, as_pairs, as_setoption, late_mean

LONG_PRESET = "LTC"
LONG_SECONDS = 40.0
"""From this base time on a test is a long one already."""


@dataclass(frozen=True, slots=True)
class CopiedText:
    """A text to be copied, under its title."""

    id: str
    title: str
    text: str


def list_texts(run: Run) -> tuple[CopiedText, ...]:
    return tuple(_list_tune(run) if isinstance(run.kind, SpsaTuning) else _list_results(run))


def _list_results(run: Run) -> Iterator[CopiedText]:
    for style, title in (
        (SummaryStyle.FISHTEST, "Result, fishtest's way"),
        (SummaryStyle.OPENBENCH, "Result, OpenBench's way"),
    ):
        yield CopiedText(f"text-{style.value}", title, summary(run, style))


def _list_tune(run: Run) -> Iterator[CopiedText]:
    """The values now and, steadier, their mean over the last fifth of the way."""
    assert isinstance(run.kind, SpsaTuning)
    tune = run.kind.tune
    late = late_mean(tune)
    yield CopiedText("text-values", "Values now", "\n".join(as_pairs(tune, tune.thetas)))
    yield CopiedText("text-late", "Mean of the last fifth", "\n".join(as_pairs(tune, late)))
    yield CopiedText("text-options", "As UCI commands", "\n".join(as_setoption(tune, tune.thetas)))
    yield CopiedText("text-lines", "As lines for the next tune", "\n".join(as_lines(tune, late)))


def list_next_steps(run: Run, *, has_long_preset: bool = False) -> tuple[tuple[str, str], ...]:
    """Addresses of forms that this run fills in, with their words. A test is confirmed by the
    engine's preset for long games, where it has one."""
    found = [(f"/tests/new?clone={run.id}", "Clone or run again")]
    if isinstance(run.kind, SpsaTuning):
        found.append((f"/tests/new?spsa={run.id}", "Test these values"))
    elif has_long_preset and _passed_short(run):
        found.append((f"/tests/new?clone={run.id}&preset={LONG_PRESET}", "Confirm at LTC"))
    return tuple(found)


def _passed_short(run: Run) -> bool:
    passed = isinstance(run.kind, SprtTest) and run.kind.state.verdict is Verdict.ACCEPTED
    return passed and base_seconds(run.plan.time_control) < LONG_SECONDS


def list_downloads(run: Run) -> tuple[tuple[str, str], ...]:
    """The run for programs: addresses with their words."""
    api = f"/api/v1/runs/{run.id}"
    return (
        (api, "JSON"),
        (f"/runs/{run.id}/samples.csv", "CSV of the charts"),
        (f"/runs/{run.id}/games", "Games and PGN"),
    )


def describe_preview(heading: RunHeading, label: StatusLabel, elo: str) -> str:
    """A sentence for those who see a link to the run."""
    run = heading.run
    games = format_plural(run.tally.results.games, "game")
    return f"{run.plan.engine}, {describe_question(run)}: {label.word} after {games}, Elo {elo}"
