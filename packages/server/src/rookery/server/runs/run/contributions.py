"""Who played a run, by user, processor, architecture and runner, with the Elo of each group, so
that deviating groups can be seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rookery.core.clock import Clock
from rookery.core.model.kinds import Kind
from rookery.core.stats.residuals import AUTOMATIC, HARDLY_CHANCE, MANUAL, UNUSUAL, Colour
from rookery.server.caches import ExpiringCache
from rookery.server.farm.read_values import Contribution, Grouping
from rookery.server.farm.reads import FleetReads
from rookery.server.show.statistics import ShownElo, estimate_fixed_elo

DIFFERS = (
    "All machines play the same two engines, so that their pairs should be won, lost and halved in"
    " about the same shares. A chi-square test tells by how many standard deviations a group's"
    " shares lie from those of all: its residual. The more groups there are, the more one of them"
    " may stand out by chance, and the bar rises with their number: beyond one chance in"
    f" {1 / UNUSUAL:.0f} a group differs a little, beyond one in {1 / HARDLY_CHANCE:.0f} it differs"
    " from the rest."
)
PURGES = (
    "A purge looks at single workers in the same way. It strikes out the worst one where the"
    f" residual is above {MANUAL.residual:g} or the test as a whole is below one chance in"
    f" {1 / MANUAL.p_value:.0f} ({AUTOMATIC.residual:g} and one in {1 / AUTOMATIC.p_value:,.0f}"
    " where the run purges itself), looks again, and counts the result anew."
)
EXPLAINED = (DIFFERS, PURGES)
"""The explanation of residuals and of purges."""
MOST_GROUPS = 50
MOST_REMEMBERED = 1000
REMEMBERED_SECONDS = 10.0


class KeptContributions:
    """Reads contributions and keeps them for a moment: they are summed up over all tasks of a run,
    which may be a hundred thousand, and a run may have many viewers."""

    def __init__(self, reads: FleetReads, clock: Clock) -> None:
        self._reads = reads
        self._kept = ExpiringCache[str, tuple[Contribution, ...]](clock, MOST_REMEMBERED)

    async def load(self, run_id: str) -> tuple[Contribution, ...]:
        found = self._kept.get(run_id)
        if found is None:
            found = await self._reads.contributions(run_id, MOST_GROUPS)
            self._kept.put(run_id, found, REMEMBERED_SECONDS)
        return found


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """One group of machines, and how far its results differ from those of the others."""

    group: Contribution
    elo: ShownElo
    colour: Colour


def compare_groups(
    kind: Kind, found: Sequence[Contribution]
) -> Mapping[Grouping, tuple[ComparedGroup, ...]]:
    """The groups by each way to group the machines, those with the most games first. A way with a
    single nameless group is left out."""
    groups = {by: [one for one in found if one.by is by] for by in Grouping}
    return {
        by: tuple(_compare(kind, those))
        for by, those in groups.items()
        if any(one.name for one in those)
    }


def _compare(kind: Kind, those: Sequence[Contribution]) -> list[ComparedGroup]:
    test = kind.judge({one.name: one.results for one in those})
    colours = {} if test is None else {who: test.colour(far) for who, far in test.residuals.items()}
    return [
        ComparedGroup(
            one,
            estimate_fixed_elo(one.results.pentanomial),
            colours.get(one.name, Colour.GREEN),
        )
        for one in those
    ]
