"""The plain values of the JSON API: numbers and names within bounds, and words from a list."""

import enum
from typing import Annotated

from msgspec import Meta

from rookery.core.machine import SHORT_NAME

Number = Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]
Page = Annotated[int, Meta(ge=1, le=10_000_000)]
PageSize = Annotated[int, Meta(ge=1, le=200)]
Sequence = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, Meta(min_length=1, max_length=100)]
MachineName = Annotated[str, Meta(pattern=rf"^{SHORT_NAME.pattern}\Z")]
BookName = Annotated[
    str,
    Meta(
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{1,49}~)?[A-Za-z0-9][A-Za-z0-9_.+-]{0,150}\.(epd|pgn)\Z"
    ),
]


class ListedState(enum.StrEnum):
    """Which runs a list shows."""

    UNFINISHED = "unfinished"
    PENDING = "pending"
    PAUSED = "paused"
    ACTIVE = "active"
    FINISHED = "finished"


class HouseStyle(enum.StrEnum):
    """In whose words a result is told."""

    FISHTEST = "fishtest"
    OPENBENCH = "openbench"
