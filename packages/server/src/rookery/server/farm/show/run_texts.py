"""Texts to take away from a run: its result, a tune's values, and links to further steps."""

from collections.abc import Iterator
from dataclasses import dataclass

from rookery.core.model.kinds import SprtTest, SpsaTuning
from rookery.core.model.run import Run
from rookery.core.model.timecontrol import base_seconds
from rookery.core.protocol.v1 import SummaryStyle
from rookery.core.stats.sprt import Verdict
from rookery.core.stats.spsa import as_lines, as_pairs, as_setoption, late_mean
from rookery.server.farm.show.run_description import describe_question
from rookery.server.farm.show.run_row import StatusLabel
from rookery.server.farm.summaries import summary
from rookery.server.http.pages.formatting import format_plural
from rookery.server.runs.run.heading import RunHeading

LONG_PRESET = "LTC"
LONG_SECONDS = 40.0
"""A test with at least this base time is a long one."""


@dataclass(frozen=True, slots=True)
class CopiedText:
    """A text to copy, and its title."""

    id: str
    title: str
    text: str


def list_texts(run: Run) -> tuple[CopiedText, ...]:
    return tuple(_list_tune(run) if isinstance(run.kind, SpsaTuning) else _list_results(run))


def _list_results(run: Run) -> Iterator[CopiedText]:
    for style, title in (
        (SummaryStyle.FISHTEST, "Result, fishtest style"),
        (SummaryStyle.OPENBENCH, "Result, OpenBench style"),
    ):
        yield CopiedText(f"text-{style.value}", title, summary(run, style))


def _list_tune(run: Run) -> Iterator[CopiedText]:
    """The present values of a tune and, steadier, their means over the last fifth of it."""
    assert isinstance(run.kind, SpsaTuning)
    tune = run.kind.tune
    late = late_mean(tune)
    yield CopiedText("text-values", "Values now", "\n".join(as_pairs(tune, tune.thetas)))
    yield CopiedText("text-late", "Mean of the last fifth", "\n".join(as_pairs(tune, late)))
    yield CopiedText("text-options", "As UCI commands", "\n".join(as_setoption(tune, tune.thetas)))
    yield CopiedText("text-lines", "As lines for the next tune", "\n".join(as_lines(tune, late)))


def list_next_steps(run: Run, *, has_long_preset: bool = False) -> tuple[tuple[str, str], ...]:
    """Links to forms that this run fills in, with their labels. A test is confirmed with the
    engine's preset for long games, if it has one."""
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
    """Downloads of the run for programs: addresses with their labels."""
    api = f"/api/v1/runs/{run.id}"
    return (
        (api, "JSON"),
        (f"/runs/{run.id}/samples.csv", "CSV of the charts"),
        (f"/runs/{run.id}/games", "Games and PGN"),
    )


def describe_preview(heading: RunHeading, label: StatusLabel, elo: str) -> str:
    """A sentence for previews of links to the run."""
    run = heading.run
    games = format_plural(run.tally.results.games, "game")
    return f"{run.plan.engine}, {describe_question(run)}: {label.word} after {games}, Elo {elo}"
