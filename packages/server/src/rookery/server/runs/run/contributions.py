"""Who played a run, by user, processor, architecture and runner, with the Elo of each group, so
that deviating groups can be seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from rookery.core.model.kinds import Kind
from rookery.core.model.task import Results
from rookery.core.stats.residuals import AUTOMATIC, HARDLY_CHANCE, MANUAL, UNUSUAL, Colour
from rookery.server.farm.read_values import Contribution, Grouping
from rookery.server.farm.show.run_row import Tone
from rookery.server.http.pages.formatting import (
    DASH,
    format_count,
    format_elo,
    format_plural,
    format_processor,
)
from rookery.server.runs.run.statistics import estimate_fixed_elo

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
"""The explanation of residuals."""
TONES = {Colour.GREEN: Tone.IDLE, Colour.YELLOW: Tone.YELLOW, Colour.RED: Tone.RED}
REMARKS = {Colour.GREEN: "", Colour.YELLOW: "differs a little", Colour.RED: "differs from the rest"}
TITLES = {
    Grouping.USER: "User",
    Grouping.CPU: "Processor",
    Grouping.ARCH: "Architecture",
    Grouping.RUNNER: "Runner",
}
UNTOLD = {
    Grouping.CPU: "not reported by official workers",
    Grouping.RUNNER: "fastchess of official workers",
}
"""The text for an empty name."""


@dataclass(frozen=True, slots=True)
class ContributionRow:
    """One group of machines."""

    name: str
    link: str
    machines: str
    games: str
    share: str
    elo: str
    losses: str
    tone: Tone
    remark: str


@dataclass(frozen=True, slots=True)
class ContributionTable:
    """All groups of one kind, those with the most games first."""

    title: str
    by: Grouping
    rows: tuple[ContributionRow, ...]
    more: str = ""
    """How many further groups there are."""


def make_contribution_tables(
    kind: Kind, found: Sequence[Contribution]
) -> tuple[ContributionTable, ...]:
    """A table for each way to group the machines. One with a single nameless group is left out."""
    groups = {by: [one for one in found if one.by is by] for by in Grouping}
    return tuple(
        ContributionTable(TITLES[by], by, make_contribution_rows(kind, those), _count_more(those))
        for by, those in groups.items()
        if any(one.name for one in those)
    )


def _count_more(those: Sequence[Contribution]) -> str:
    number = those[0].all_groups - len(those)
    return f"and {format_count(number)} more" if number > 0 else ""


def make_contribution_rows(
    kind: Kind, found: Sequence[Contribution]
) -> tuple[ContributionRow, ...]:
    played: Mapping[str, Results] = {one.name: one.results for one in found}
    test = kind.judge(played)
    colours = {} if test is None else {who: test.colour(far) for who, far in test.residuals.items()}
    return tuple(
        _make_contribution_row(one, colours.get(one.name, Colour.GREEN), with_elo=kind.may_purge)
        for one in found
    )


def _name_group(one: Contribution) -> str:
    name = format_processor(one.name) if one.by is Grouping.CPU else one.name
    return name or UNTOLD.get(one.by, "unknown")


def _make_contribution_row(one: Contribution, colour: Colour, *, with_elo: bool) -> ContributionRow:
    results = one.results
    elo = estimate_fixed_elo(results.pentanomial)
    return ContributionRow(
        name=_name_group(one),
        link=f"/users/{quote(one.name)}" if one.by is Grouping.USER else "",
        machines=format_count(one.machines),
        games=format_count(results.games),
        share=f"{results.games / max(1, one.all_games):.0%}",
        elo=format_elo(elo.middle, elo.half_width) if with_elo else DASH,
        losses=describe_losses(results),
        tone=TONES[colour],
        remark=REMARKS[colour],
    )


def describe_losses(results: Results) -> str:
    """Crashes and losses on time, if there are any."""
    parts = []
    if results.crashes:
        parts.append(format_plural(results.crashes, "crash", "crashes"))
    if results.time_losses:
        parts.append(format_plural(results.time_losses, "time loss", "time losses"))
    return ", ".join(parts)
