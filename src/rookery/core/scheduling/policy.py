"""The scheduler's settings that an installation may choose."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Policy:
    """Defaults are the contract's; the machine limit counts per user, or per address if asked."""

    dead_after: timedelta = timedelta(seconds=360)
    duplicate_window: timedelta = timedelta(seconds=120)
    limit_by_address: bool = False
    cores_per_user: int = 4096
    """Cores that a user with the ordinary machine limit may have at play; more in proportion."""
    users_to_stop: int = 2
    """So many users whose machines have the same complaint stop a run, though none of them is
    trusted; however many machines each has."""
    simulated: bool = False
    """Workers of this fleet make their results up, faster than games can be played."""


STANDARD_POLICY = Policy()
