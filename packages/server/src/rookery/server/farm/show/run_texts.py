"""Texts to take away from a run: its result, a tune's values, and links to further steps."""

from rookery.core.model.run import Run
from rookery.core.model.timecontrol import LONG_SECONDS, base_seconds
from rookery.core.protocol.v1 import SummaryStyle
from rookery.server.farm.show.kinds import page_of
from rookery.server.farm.show.run_description import describe_question
from rookery.server.farm.show.run_parts import CopiedText
from rookery.server.farm.show.run_row import StatusLabel
from rookery.server.farm.summaries import summary
from rookery.server.http.pages.formatting import format_plural
from rookery.server.runs.run.heading import RunHeading

LONG_PRESET = "LTC"


def list_texts(run: Run) -> tuple[CopiedText, ...]:
    own = tuple(page_of(run.kind).list_texts())
    return own or tuple(
        CopiedText(f"text-{style.value}", f"Result, {name} style", summary(run, style))
        for style, name in (
            (SummaryStyle.FISHTEST, "fishtest"),
            (SummaryStyle.OPENBENCH, "OpenBench"),
        )
    )


def list_next_steps(run: Run, *, has_long_preset: bool = False) -> tuple[tuple[str, str], ...]:
    """Links to forms that this run fills in, with their labels. A test is confirmed with the
    engine's preset for long games, if it has one."""
    found = [(f"/tests/new?clone={run.id}", "Clone or run again")]
    if run.kind.tune is not None:
        found.append((f"/tests/new?spsa={run.id}", "Test these values"))
    elif has_long_preset and _passed_short(run):
        found.append((f"/tests/new?clone={run.id}&preset={LONG_PRESET}", "Confirm at LTC"))
    return tuple(found)


def _passed_short(run: Run) -> bool:
    passed = run.kind.outcome(run.tally.results).is_pass
    return (
        run.kind.hypotheses is not None
        and passed
        and base_seconds(run.plan.time_control) < LONG_SECONDS
    )


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
