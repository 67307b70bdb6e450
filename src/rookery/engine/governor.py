"""When a search must end: at its node limit exactly, by the clock, or because it was told to."""

from collections.abc import Callable
from dataclasses import dataclass

LOOK_EVERY = 8
"""Nodes between two looks at clock and input: about a millisecond."""


class Halt(Exception):
    """the search is over"""


@dataclass(slots=True)
class Governor:
    """One search's limits. `told_to_stop` looks at the input without waiting."""

    clock: Callable[[], float]
    told_to_stop: Callable[[], bool]
    nodes: int | None = None
    soft: float | None = None
    """No new iteration begins after this moment."""
    hard: float | None = None
    """The search ends at this moment."""

    def look(self, nodes: int) -> int:
        """The node at which to look again; raises Halt when there is none."""
        if self.nodes is not None and nodes >= self.nodes:
            raise Halt
        if self.hard is not None and self.clock() >= self.hard:
            raise Halt
        if self.told_to_stop():
            raise Halt
        following = nodes + LOOK_EVERY
        return following if self.nodes is None else min(following, self.nodes)

    def may_go_on(self) -> bool:
        """Whether another iteration is worth its beginning."""
        return self.soft is None or self.clock() < self.soft
