"""Chance, as the use cases ask for it: what is drawn for a tune comes from here alone."""

import secrets
from typing import Protocol

_BITS = 53  # of a float's fraction


class Chance(Protocol):
    def flips(self, size: int) -> bytes:
        """So many random bytes."""
        ...

    def numbers(self, count: int) -> tuple[float, ...]:
        """So many numbers in [0, 1)."""
        ...


class SystemChance:
    """The operating system's chance."""

    def flips(self, size: int) -> bytes:
        return secrets.token_bytes(size)

    def numbers(self, count: int) -> tuple[float, ...]:
        return tuple(secrets.randbits(_BITS) / (1 << _BITS) for _ in range(count))
