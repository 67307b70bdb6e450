"""The Elo scales: logistic Elo against score, and normalised Elo against score in sigmas."""

from math import log, log10

# A score outside this range says "very lopsided" and no more.
MIN_SCORE = 0.001
MAX_SCORE = 0.999

# Elo beyond this is the same score to ten digits; 10 ** (elo / 400) must not overflow.
STEEPEST_ELO = 4000.0

# Normalised Elo of one sigma per game; it makes both scales agree for a sigma of one half.
NELO_PER_SIGMA = 800.0 / log(10.0)


def score_of(elo: float) -> float:
    bounded = max(-STEEPEST_ELO, min(STEEPEST_ELO, elo))
    return float(1.0 / (1.0 + 10.0 ** (-bounded / 400.0)))


def elo_of(score: float) -> float:
    bounded = max(MIN_SCORE, min(MAX_SCORE, score))
    # Taken from zero, so that an even score is 0.0 and not -0.0.
    return 0.0 - 400.0 * log10(1.0 / bounded - 1.0)
