"""How machines are told of wherever they are listed: their state, speed and residual in words."""

from collections.abc import Mapping
from datetime import datetime

from rookery.farm.views import KnownMachine
from rookery.model.run import Run
from rookery.pages.run_row import StatusLabel, Tone
from rookery.rules.diagnosis import STILL_THERE
from rookery.stats.residuals import Colour

PLAYING = StatusLabel("playing", Tone.LIVE, "●")
WAITING = StatusLabel("waiting", Tone.WAIT, "◌")
AWAY = StatusLabel("away", Tone.IDLE, "○")
BLOCKED = StatusLabel("blocked", Tone.RED, "■")
RESIDUALS: Mapping[Colour | None, StatusLabel] = {
    Colour.GREEN: StatusLabel("as the others", Tone.IDLE, ""),
    Colour.YELLOW: StatusLabel("differs a little", Tone.YELLOW, "▲"),
    Colour.RED: StatusLabel("differs from the rest", Tone.RED, "▲"),
}
"""How the results of its present task compare with those of the others that play the run."""


def label_machine(known: KnownMachine | None, now: datetime) -> StatusLabel:
    """None is a machine that nothing was heard of lately."""
    if known is None:
        return AWAY
    return PLAYING if known.task else WAITING if is_there(known, now) else AWAY


def is_there(known: KnownMachine, now: datetime) -> bool:
    """Whether it gave a sign of life not long ago."""
    return known.heard >= now - STILL_THERE


def compare_speed(nps: float, run: Run | None) -> str:
    """Against the speed that the run's time control is meant for; empty where that is unknown."""
    if run is None or nps <= 0 or run.reference_nps <= 0:
        return ""
    return f"{100 * nps / run.reference_nps:.0f} %"
