"""Words for a machine's state, speed and residual, wherever machines are listed."""

from collections.abc import Mapping
from datetime import datetime

from rookery.core.model.run import Run
from rookery.core.stats.residuals import Colour
from rookery.server.farm.rules.diagnosis import STILL_THERE
from rookery.server.farm.show.run_row import StatusLabel, Tone
from rookery.server.farm.views import KnownMachine

PLAYING = StatusLabel("playing", Tone.LIVE, "●")
WAITING = StatusLabel("waiting", Tone.WAIT, "◌")
AWAY = StatusLabel("away", Tone.IDLE, "○")
BLOCKED = StatusLabel("blocked", Tone.RED, "■")
RESIDUALS: Mapping[Colour | None, StatusLabel] = {
    Colour.GREEN: StatusLabel("like the others", Tone.IDLE, ""),
    Colour.YELLOW: StatusLabel("differs a little", Tone.YELLOW, "▲"),
    Colour.RED: StatusLabel("differs from the rest", Tone.RED, "▲"),
}
"""Labels for how the results of a machine's task compare with the others of the run."""


def label_machine(known: KnownMachine | None, now: datetime) -> StatusLabel:
    """The label of a machine's state. None stands for one that was not seen lately."""
    if known is None:
        return AWAY
    return PLAYING if known.task else WAITING if is_there(known, now) else AWAY


def is_there(known: KnownMachine, now: datetime) -> bool:
    """Whether the machine gave a sign of life recently."""
    return known.heard >= now - STILL_THERE


def compare_speed(nps: float, run: Run | None) -> str:
    """The speed relative to the one that the run's time control is based on; empty if that is
    unknown."""
    if run is None or nps <= 0 or run.reference_nps <= 0:
        return ""
    return f"{100 * nps / run.reference_nps:.0f} %"
