"""Who played a run, by user, processor, architecture and runner, with the Elo of each group: one
that stands out is seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rookery.farm.read_values import Contribution, Grouping
from rookery.model.kinds import Kind
from rookery.model.task import Results
from rookery.pages.formatting import DASH, format_count, format_elo, format_plural
from rookery.pages.run_row import Tone
from rookery.pages.run_statistics import estimate_fixed_elo
from rookery.stats.residuals import Colour

TONES = {Colour.GREEN: Tone.IDLE, Colour.YELLOW: Tone.YELLOW, Colour.RED: Tone.RED}
REMARKS = {Colour.GREEN: "", Colour.YELLOW: "differs a little", Colour.RED: "differs from the rest"}
TITLES = {
    Grouping.USER: "User",
    Grouping.CPU: "Processor",
    Grouping.ARCH: "Architecture",
    Grouping.RUNNER: "Runner",
}
UNTOLD = {
    Grouping.CPU: "not told by official workers",
    Grouping.RUNNER: "fastchess of official workers",
}
"""What stands for an empty name."""


@dataclass(frozen=True, slots=True)
class ContributionRow:
    """One group of machines."""

    name: str
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


def make_contribution_tables(
    kind: Kind, found: Sequence[Contribution]
) -> tuple[ContributionTable, ...]:
    """A table for each way to group the machines; one with a single nameless group says nothing."""
    groups = {by: [one for one in found if one.by is by] for by in Grouping}
    return tuple(
        ContributionTable(TITLES[by], by, make_contribution_rows(kind, those))
        for by, those in groups.items()
        if any(one.name for one in those)
    )


def make_contribution_rows(
    kind: Kind, found: Sequence[Contribution]
) -> tuple[ContributionRow, ...]:
    played: Mapping[str, Results] = {one.name: one.results for one in found}
    all_games = sum(one.results.games for one in found)
    test = kind.judge(played)
    colours = {} if test is None else {who: test.colour(far) for who, far in test.residuals.items()}
    return tuple(
        _make_contribution_row(
            one, all_games, colours.get(one.name, Colour.GREEN), with_elo=kind.may_purge
        )
        for one in found
    )


def _make_contribution_row(
    one: Contribution, all_games: int, colour: Colour, *, with_elo: bool
) -> ContributionRow:
    results = one.results
    elo = estimate_fixed_elo(results.pentanomial)
    return ContributionRow(
        name=one.name or UNTOLD.get(one.by, "unknown"),
        machines=format_count(one.machines),
        games=format_count(results.games),
        share=f"{results.games / all_games:.0%}",
        elo=format_elo(elo.middle, elo.half_width) if with_elo else DASH,
        losses=describe_losses(results),
        tone=TONES[colour],
        remark=REMARKS[colour],
    )


def describe_losses(results: Results) -> str:
    """Crashes and losses on time, where there are any."""
    parts = []
    if results.crashes:
        parts.append(format_plural(results.crashes, "crash", "crashes"))
    if results.time_losses:
        parts.append(format_plural(results.time_losses, "time loss", "time losses"))
    return ", ".join(parts)
