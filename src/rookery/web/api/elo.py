"""Elo estimates as answers carry them; each costs some hundred microseconds: call in a thread."""

from collections.abc import Sequence

from rookery.core.kinds import SprtTest
from rookery.core.run import Run
from rookery.core.stats.estimate import estimate_elo
from rookery.core.stats.live import live_elo
from rookery.core.stats.sprt import EloModel, Sprt
from rookery.protocol.encoding import finite
from rookery.protocol.user.elo import EloQuery, FixedElo, LiveElo


def elo_of_query(query: EloQuery) -> FixedElo | LiveElo:
    """calc_elo."""
    if query.bounds is None:
        return fixed_elo(query.bins)
    bounds = query.bounds
    spec = Sprt(bounds.elo0, bounds.elo1, EloModel(bounds.elo_model))
    return sequential_elo(spec, query.bins)


def fixed_elo(bins: Sequence[int]) -> FixedElo:
    found = estimate_elo(bins)
    return FixedElo(
        elo=finite(found.elo), ci=(finite(found.low), finite(found.high)), los=finite(found.los)
    )


def sequential_elo(
    spec: Sprt, bins: Sequence[int], trinomial: Sequence[int] | None = None
) -> LiveElo:
    found = live_elo(spec, bins, trinomial)
    return LiveElo(
        a=found.lower_bound,
        b=found.upper_bound,
        elo=finite(found.elo),
        ci=(finite(found.low), finite(found.high)),
        los=finite(found.los),
        llr=finite(found.llr),
    )


def live_elo_of(run: Run) -> LiveElo | None:
    """Of a sequential test, also before its first game; None for other kinds."""
    if not isinstance(run.kind, SprtTest):
        return None
    results = run.tally.results
    return sequential_elo(run.kind.spec, results.pentanomial, results.trinomial)
