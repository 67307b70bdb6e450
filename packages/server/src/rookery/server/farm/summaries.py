"""Formats the result of a run for pasting elsewhere, in fishtest's style or OpenBench's."""

from rookery.core.model.plan import Side
from rookery.core.model.run import Run
from rookery.core.model.timecontrol import ClockControl, TimeControl, parse
from rookery.core.protocol.kinds import wire_of
from rookery.core.protocol.v1 import SummaryStyle


def summary(run: Run, style: SummaryStyle) -> str:
    """Return the summary, a few lines of text; computing its statistics takes some hundred
    microseconds."""
    wire, results = wire_of(run.kind), run.tally.results
    if style is SummaryStyle.FISHTEST:
        lines = wire.list_fishtest_lines(results, run.plan.games)
    else:
        lines = wire.list_openbench_lines(results, conditions(run))
    return "".join(f"{line}\n" for line in lines)


def conditions(run: Run) -> str:
    """Return the conditions of games, such as `10.0+0.10s Threads=1 Hash=16MB`; for both sides if
    they differ."""
    new, base = (_side(run, side) for side in run.plan.sides)
    return new if new == base else f"{new} vs {base}"


def _side(run: Run, side: Side) -> str:
    plan = run.plan
    tc = _time(parse(plan.side_tc(side)))
    return f"{tc} Threads={plan.side_threads(side)} Hash={side.hash_mib}MB"


def _time(tc: TimeControl) -> str:
    if isinstance(tc, ClockControl) and tc.moves is None:
        return f"{tc.seconds:.1f}+{tc.increment:.2f}s"
    return str(tc)
