"""For how long a request may be kept waiting for work, here and where it is forwarded to."""

LONGEST_SECONDS = 50.0
"""How long a request may be held; proxies give up after a minute by default."""


def left_to_wait(wished: float, waited: float) -> float:
    """How long a machine may still be held, given how long it wished to wait and has waited."""
    return max(0.0, min(wished, LONGEST_SECONDS) - waited)
