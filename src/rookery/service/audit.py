"""What was done to accounts, teams and engines, written into the log of actions."""

from typing import Protocol

from rookery.core.events import Event


class Audit(Protocol):
    """The port. Any process may write; runs and tasks have their own way into the log."""

    async def write(self, event: Event) -> None: ...


class NoAudit:
    """Where nobody looks afterwards."""

    async def write(self, event: Event) -> None:
        """Forgets it."""
