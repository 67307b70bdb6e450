"""What a new run finds: the engines known here, and how fast the machines seen so far are."""

from collections.abc import Callable
from dataclasses import dataclass

from rookery.core.engine import STANDARD, Catalogue

ORDINARY_CORES = 4


@dataclass(frozen=True, slots=True)
class KnownBook:
    """What is known of a book before it is played from; `official` ones any worker can fetch."""

    openings: int
    sri: str
    official: bool
    kept: bool = True


def unknown_speed(_engine: str) -> float:
    """Where nobody has played yet."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The medians stand for the machine that will most likely play."""

    catalogue: Catalogue = STANDARD
    speed_of: Callable[[str], float] = unknown_speed
    """The median speed at which machines have played an engine; 0 where none has."""
    median_cores: int = ORDINARY_CORES
    schemes: frozenset[str] = frozenset()
    """How this server fetches sources, for workers that can't."""
    credentials: bool = False
    """Whether this server can fetch what is closed to others."""
    mirroring: bool = False
    """Whether workers get all sources from this server."""
    book: KnownBook | None = None
    """That of the submission; None where nobody here has heard of it."""
