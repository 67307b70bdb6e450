"""Texts to take away from a run: its result, a tune's values, and links to further steps."""

from rookery.core.model.run import Run
from rookery.core.model.timecontrol import LONG_SECONDS, base_seconds
from rookery.core.protocol.v1 import SummaryStyle
from rookery.server.farm.summaries import summary
from rookery.server.show.kinds import page_of
from rookery.server.show.run_parts import CopiedText

LONG_PRESET = "LTC"


def list_texts(run: Run) -> tuple[CopiedText, ...]:
    own = tuple(page_of(run.kind).list_texts())
    return own or tuple(
        (f"text-{style.value}", f"Result, {name} style", summary(run, style))
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
