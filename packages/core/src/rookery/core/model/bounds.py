"""The bounded numbers and texts that records and messages are made of. The `form` of a pattern says
it in words."""

from typing import Annotated

from msgspec import Meta

LARGEST_COUNT = 2**31 - 1
"""The largest integer that a column of the database holds."""
LONGEST_MESSAGE = 5120
"""Longer messages are cut, not refused."""

Count = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
Cores = Annotated[int, Meta(ge=1, le=65_536)]
Checksum = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Amount = Annotated[float, Meta(ge=0, le=1e12)]

Word = Annotated[str, Meta(max_length=100)]
Phrase = Annotated[str, Meta(max_length=1000)]
Paragraph = Annotated[str, Meta(max_length=100_000)]
RunId = Annotated[str, Meta(pattern=r"^[0-9a-f]{24}\Z", extra={"form": "24 hex digits"})]
IdPrefix = Annotated[str, Meta(pattern=r"^[0-9a-f]{0,24}\Z", extra={"form": "up to 24 hex digits"})]
UniqueKey = Annotated[
    str, Meta(pattern=r"^[0-9a-zA-Z]{2,8}(-[a-f0-9]{4}){3}-[a-f0-9]{12}\Z", max_length=50)
]
Triple = tuple[Count, Count, Count]
Words = Annotated[tuple[Word, ...], Meta(max_length=1000)]
