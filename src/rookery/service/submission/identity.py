"""Run ids: 24 hex digits that sort by creation and tell when it was, as object ids do."""

from collections.abc import Callable
from datetime import datetime

Chance = Callable[[int], bytes]
"""That many random bytes; `secrets.token_bytes` is one."""

FRACTION = 2**24
RANDOM_BYTES = 5


def run_id(now: datetime, chance: Chance) -> str:
    """Four bytes of UNIX seconds, three of their fraction, five of chance."""
    moment = now.timestamp()
    seconds = int(moment)
    fraction = int((moment - seconds) * FRACTION)
    return f"{seconds:08x}{fraction:06x}{chance(RANDOM_BYTES).hex()}"
