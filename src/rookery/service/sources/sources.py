"""All that engines and openings are fetched from, as one value."""

from dataclasses import dataclass

from rookery.service.sources.binaries import BinaryStore


@dataclass(frozen=True, slots=True)
class Sources:
    """One per app."""

    binaries: BinaryStore
