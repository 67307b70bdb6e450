"""The one thing that storage asks of a log: an event with fields."""

from typing import Protocol


class Log(Protocol):
    def __call__(self, event: str, /, **fields: object) -> object: ...


def quiet(_event: str, /, **_fields: object) -> None:
    """For callers who do not want to know."""
