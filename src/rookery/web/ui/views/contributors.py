"""Who played a run, with the Elo of each group, so that one that stands out is seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rookery.core.kinds.kind import Kind
from rookery.core.results import Results
from rookery.core.stats.residuals import Colour
from rookery.service.fleet.ports import Contribution
from rookery.web.ui.views import figures, words
from rookery.web.ui.views.standing import Tone

TONES = {Colour.GREEN: Tone.IDLE, Colour.YELLOW: Tone.YELLOW, Colour.RED: Tone.RED}
REMARKS = {Colour.GREEN: "", Colour.YELLOW: "differs a little", Colour.RED: "differs from the rest"}


@dataclass(frozen=True, slots=True)
class Group:
    """A row: one user's machines with one kind of processor."""

    user: str
    arch: str
    machines: str
    games: str
    share: str
    elo: str
    losses: str
    tone: Tone
    remark: str


def groups_of(kind: Kind, found: Sequence[Contribution]) -> tuple[Group, ...]:
    played: Mapping[str, Results] = {_key(one): one.results for one in found}
    all_games = sum(one.results.games for one in found)
    test = kind.judge(played)
    colours = {} if test is None else {who: test.colour(far) for who, far in test.residuals.items()}
    return tuple(
        _group(one, all_games, colours.get(_key(one), Colour.GREEN), with_elo=kind.may_purge)
        for one in found
    )


def _group(one: Contribution, all_games: int, colour: Colour, *, with_elo: bool) -> Group:
    results = one.results
    elo = figures.plain(results.pentanomial)
    return Group(
        user=one.user,
        arch=one.arch,
        machines=words.count(one.machines),
        games=words.count(results.games),
        share=f"{results.games / all_games:.0%}",
        elo=words.elo(elo.middle, elo.half_width) if with_elo else words.NOTHING,
        losses=_losses(results),
        tone=TONES[colour],
        remark=REMARKS[colour],
    )


def _losses(results: Results) -> str:
    """Crashes and losses on time, where there are any."""
    parts = []
    if results.crashes:
        parts.append(words.several(results.crashes, "crash", "crashes"))
    if results.time_losses:
        parts.append(words.several(results.time_losses, "time loss", "time losses"))
    return ", ".join(parts)


def _key(one: Contribution) -> str:
    return f"{one.user} {one.arch}"
