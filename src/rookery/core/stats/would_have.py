"""What other bounds would have said about the same results: a thought, never a verdict.

Bounds chosen after looking at the results have no error rates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rookery.core.stats.sprt import Sprt, SprtState, Verdict


@dataclass(frozen=True, slots=True)
class WouldHave:
    """Where the test would stand, or the first result at which it would have ended."""

    spec: Sprt
    llr: float
    ending: Verdict
    samples: int


def would_have(
    spec: Sprt, history: Iterable[Sequence[int]], trinomial: Sequence[int] | None = None
) -> WouldHave:
    """Follows cumulative results, oldest first, under the plain bounds; gaps are allowed."""
    seen = WouldHave(spec, 0.0, Verdict.RUNNING, 0)
    for bins in history:
        state = SprtState(overshoot=None).after(spec, bins, trinomial)
        seen = WouldHave(spec, state.llr, state.verdict, sum(bins))
        if state.verdict is not Verdict.RUNNING:
            break
    return seen
