"""Elo from counted results, as the user API gives it."""

from rookery.core.stats.estimate import estimate_elo
from rookery.core.stats.live import live_elo
from rookery.core.stats.sprt import EloModel, Sprt
from rookery.protocol.user.elo import EloQuery, FixedElo, LiveElo, SprtBounds


def estimate(query: EloQuery) -> FixedElo | LiveElo:
    """The estimate that the query asks for; a sequential test's when it has bounds."""
    return _fixed(query.bins) if query.bounds is None else _live(query.bins, query.bounds)


def _fixed(bins: tuple[int, ...]) -> FixedElo:
    found = estimate_elo(bins)
    return FixedElo(elo=found.elo, ci=(found.low, found.high), los=found.los)


def _live(bins: tuple[int, ...], bounds: SprtBounds) -> LiveElo:
    spec = Sprt(bounds.elo0, bounds.elo1, EloModel(bounds.elo_model))
    found = live_elo(spec, bins)
    return LiveElo(
        a=found.lower_bound,
        b=found.upper_bound,
        elo=found.elo,
        ci=(found.low, found.high),
        los=found.los,
        llr=found.llr,
    )
