"""A fixed number of games on the wire: it has no settings of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from msgspec import UNSET, Struct, UnsetType

from rookery.core.model.kinds import Fixed, Kind
from rookery.core.model.plan import Plan
from rookery.core.model.task import Results
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.kinds.wire import (
    BatchFor,
    History,
    count_for_openbench,
    count_games,
    measure_for_openbench,
    measure_pairs,
)
from rookery.core.stats.elo import estimate_elo


@dataclass(frozen=True, slots=True)
class AskedFixed:
    """A submission without settings of a kind."""

    kind: ClassVar[type[Kind]] = Fixed
    usual_games: ClassVar[int] = 0
    is_marked_long: ClassVar[bool] = False

    def make(self, plan: Plan, batch_for: BatchFor, checks: Checks) -> Fixed:
        del plan, batch_for, checks
        return Fixed()


@dataclass(frozen=True, slots=True)
class FixedWire:
    """A run of fixed games in answers and messages."""

    settings: ClassVar = None
    kind: Fixed
    question: ClassVar[str] = "A fixed number of games."

    def document(self, history: History | UnsetType = UNSET) -> Mapping[str, Struct]:
        del history
        return {}

    def list_fishtest_lines(self, results: Results, games: int) -> Iterator[str]:
        del games
        if results.games:
            found = estimate_elo(results.pentanomial)
            yield f"Elo: {found.elo:z.2f} ± {found.half_width:.1f} (95%) LOS: {found.los:.1%}"
        yield from count_games(results)
        if results.games:
            yield measure_pairs(results)

    def list_openbench_lines(self, results: Results, conditions: str) -> Iterator[str]:
        yield from measure_for_openbench(results)
        yield f"Conf  | {conditions}"
        yield from count_for_openbench(results)
