"""Who asks for a change."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """The user who asks for a change."""

    name: str
    approver: bool = False
