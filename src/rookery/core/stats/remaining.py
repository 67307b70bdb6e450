"""How much work a run probably still needs: the rough figure that lists of runs are sorted by.

The outlook is the careful answer; this one must cost nothing and agree with other farms.
"""

from rookery.core.stats.sprt import Sprt, SprtState

# What an SPRT takes on average, before it says anything about itself.
AVERAGE_SPRT_GAMES = 95_000.0
# By this many pairs a test speaks for itself entirely; Beta(1, 15) says how fast that comes.
PAIRS_OF_FULL_TRUST = 2_632_036
TRUST_POWER = 15
SMALLEST_LLR = 0.1


def fixed_games_left(*, games: int, num_games: int) -> float:
    return float(max(0, num_games - games))


def sprt_games_left(spec: Sprt, state: SprtState, *, games: int, num_games: int) -> float:
    lower, upper = state.bounds(spec)
    if not lower <= state.llr <= upper:
        return 0.0
    bound = upper if state.llr >= 0.0 else -lower
    by_llr = games * abs(bound) / max(SMALLEST_LLR, abs(state.llr))
    unread = 1.0 - min(1.0, games / 2.0 / PAIRS_OF_FULL_TRUST)
    trust = 1.0 - unread**TRUST_POWER
    expected = min(float(num_games), by_llr * trust + AVERAGE_SPRT_GAMES * (1.0 - trust))
    return max(0.0, expected - games)
