"""Where a run stands, in a word and a tone; a tone is never shown without its word."""

import enum
from dataclasses import dataclass, replace

from rookery.core.kinds import Fixed, SprtTest
from rookery.core.run import DisplayState, Run
from rookery.core.stats.estimate import estimate_elo
from rookery.core.stats.flags import Style, fixed_verdict, style
from rookery.core.stats.sprt import Sprt, Verdict


class Tone(enum.StrEnum):
    """What a colour means, everywhere."""

    WAIT = "wait"
    LIVE = "live"
    IDLE = "idle"
    GREEN = "green"
    BLUE = "blue"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Standing:
    """`sign` is for those who do not see colours."""

    word: str
    tone: Tone
    sign: str


PENDING = Standing("waits for approval", Tone.WAIT, "◌")
PLAYING = Standing("playing", Tone.LIVE, "●")
IDLE = Standing("idle", Tone.IDLE, "○")
STOPPED = Standing("stopped", Tone.IDLE, "■")
FINISHED = Standing("finished", Tone.IDLE, "■")
BROKEN = Standing("stopped by an error", Tone.RED, "▲")
DELETED = Standing("deleted", Tone.IDLE, "×")

_VERDICTS = {
    Style.GREEN: Standing("passed", Tone.GREEN, "✓"),
    Style.BLUE: Standing("passed, no regression", Tone.BLUE, "✓"),
    Style.YELLOW: Standing("failed, yet positive", Tone.YELLOW, "✗"),
    Style.RED: Standing("failed", Tone.RED, "✗"),
}
_OPEN = {
    DisplayState.PENDING: PENDING,
    DisplayState.PAUSED: IDLE,
    DisplayState.ACTIVE: PLAYING,
    DisplayState.FAILED: BROKEN,
}


def standing_of(run: Run) -> Standing:
    if run.status.deleted:
        return DELETED
    if run.display is not DisplayState.FINISHED:
        return _OPEN[run.display]
    results = run.tally.results
    verdict, spec = _verdict(run)
    found = _VERDICTS.get(style(verdict, wins=results.wins, losses=results.losses, spec=spec))
    if found is None:
        return FINISHED if run.decided else STOPPED
    sole = run.status.sole
    return replace(found, word=f"{found.word}, by one {sole}") if sole else found


def _verdict(run: Run) -> tuple[Verdict, Sprt | None]:
    kind, results = run.kind, run.tally.results
    if isinstance(kind, SprtTest):
        return kind.state.verdict, kind.spec
    if isinstance(kind, Fixed) and run.decided and results.pairs:
        return fixed_verdict(estimate_elo(results.pentanomial).los), None
    return Verdict.RUNNING, None
