"""Scores and what they mean: centipawns, or a mate in a number of plies."""

MATE = 30_000
MATE_BOUND = MATE - 1_000
"""Scores beyond this one tell a mate."""
DRAW = 0


def is_mate(score: int) -> bool:
    return abs(score) > MATE_BOUND


def as_uci(score: int) -> str:
    """The words after `score` in an info line."""
    if not is_mate(score):
        return f"cp {score}"
    plies = MATE - abs(score)
    moves = (plies + 1) // 2
    return f"mate {moves if score > 0 else -moves}"
