"""Texts to take away from a run: its result, a tune's values, and links to further steps."""

from collections.abc import Iterator

from rookery.core.model.kinds import SprtTest, SpsaTuning
from rookery.core.model.run import Run
from rookery.core.model.timecontrol import base_seconds
from rookery.core.protocol.v1 import SummaryStyle
from rookery.core.stats.sprt import Verdict
from rookery.core.stats.spsa import as_lines, as_pairs, as_setoption, late_mean
from rookery.server.farm.summaries import summary

LONG_PRESET = "LTC"
LONG_SECONDS = 40.0
"""A test with at least this base time is a long one."""


CopiedText = tuple[str, str, str]
"""The id, the title and the content of a text to copy."""


def list_texts(run: Run) -> tuple[CopiedText, ...]:
    return tuple(_list_tune(run) if isinstance(run.kind, SpsaTuning) else _list_results(run))


def _list_results(run: Run) -> Iterator[CopiedText]:
    for style, title in (
        (SummaryStyle.FISHTEST, "Result, fishtest style"),
        (SummaryStyle.OPENBENCH, "Result, OpenBench style"),
    ):
        yield f"text-{style.value}", title, summary(run, style)


def _list_tune(run: Run) -> Iterator[CopiedText]:
    """The present values of a tune and, steadier, their means over the last fifth of it."""
    assert isinstance(run.kind, SpsaTuning)
    tune = run.kind.tune
    late = late_mean(tune)
    yield "text-values", "Values now", "\n".join(as_pairs(tune, tune.thetas))
    yield "text-late", "Mean of the last fifth", "\n".join(as_pairs(tune, late))
    yield "text-options", "As UCI commands", "\n".join(as_setoption(tune, tune.thetas))
    yield "text-lines", "As lines for the next tune", "\n".join(as_lines(tune, late))


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
