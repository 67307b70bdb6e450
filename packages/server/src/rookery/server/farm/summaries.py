"""Formats the result of a run for pasting elsewhere, in fishtest's style or OpenBench's."""

from collections.abc import Iterator

from rookery.core.model.kinds import SprtTest, SpsaTuning
from rookery.core.model.plan import Side
from rookery.core.model.run import Run
from rookery.core.model.task import Results
from rookery.core.model.timecontrol import ClockControl, TimeControl, parse
from rookery.core.protocol.v1 import SummaryStyle
from rookery.core.stats.elo import estimate_elo
from rookery.core.stats.likelihood import normalised_elo


def summary(run: Run, style: SummaryStyle) -> str:
    """The summary, a few lines of text; computing its statistics takes some hundred
    microseconds."""
    lines = _fishtest(run) if style is SummaryStyle.FISHTEST else _openbench(run)
    return "".join(f"{line}\n" for line in lines)


def _fishtest(run: Run) -> Iterator[str]:
    kind, results = run.kind, run.tally.results
    if isinstance(kind, SpsaTuning):
        schedule = kind.tune.schedule
        yield f"{kind.tune.iteration}/{schedule.iterations} iterations"
        yield f"{results.games}/{run.plan.games} games played"
        return
    if isinstance(kind, SprtTest):
        spec = kind.spec
        bounds = f"({spec.lower:.2f},{spec.upper:.2f}) <{spec.elo0:.2f},{spec.elo1:.2f}>"
        yield f"LLR: {kind.state.llr:z.2f} {bounds}"
    elif results.games:
        found = estimate_elo(results.pentanomial)
        yield f"Elo: {found.elo:z.2f} ± {found.half_width:.1f} (95%) LOS: {found.los:.1%}"
    yield f"Total: {results.games} W: {results.wins} L: {results.losses} D: {results.draws}"
    yield f"Ptnml(0-2): {', '.join(map(str, results.pentanomial))}"
    if not isinstance(kind, SprtTest) and results.games:
        yield _normalised(results)


def _normalised(results: Results) -> str:
    found = normalised_elo(results.pentanomial)
    p = results.pentanomial
    lost, won = p[0] + p[1], p[3] + p[4]
    ratio = f"{won / lost:.2f}" if lost else "inf"
    return f"nElo: {found.nelo:z.2f} ± {found.half_width:.1f} (95%) PairsRatio: {ratio}"


def _openbench(run: Run) -> Iterator[str]:
    kind, results = run.kind, run.tally.results
    if isinstance(kind, SpsaTuning):
        yield f"SPSA  | {conditions(run)}"
        yield f"Iters | {kind.tune.iteration} of {kind.tune.schedule.iterations}"
        yield f"Games | N: {results.games}"
        return
    if results.games:
        found = estimate_elo(results.pentanomial)
        yield f"Elo   | {found.elo:z.2f} +- {found.half_width:.2f} (95%)"
    if isinstance(kind, SprtTest):
        spec = kind.spec
        bounds = f"({spec.lower:.2f}, {spec.upper:.2f}) [{spec.elo0:.2f}, {spec.elo1:.2f}]"
        yield f"SPRT  | {conditions(run)}"
        yield f"LLR   | {kind.state.llr:z.2f} {bounds}"
    else:
        yield f"Conf  | {conditions(run)}"
    yield f"Games | N: {results.games} W: {results.wins} L: {results.losses} D: {results.draws}"
    yield f"Penta | [{', '.join(map(str, results.pentanomial))}]"


def conditions(run: Run) -> str:
    """The conditions of games, such as `10.0+0.10s Threads=1 Hash=16MB`; for both sides if they
    differ."""
    new, base = (_side(run, side) for side in run.plan.sides[:2])
    return new if new == base else f"{new} vs {base}"


def _side(run: Run, side: Side) -> str:
    plan = run.plan
    tc = _time(parse(plan.side_tc(side)))
    return f"{tc} Threads={plan.side_threads(side)} Hash={side.hash_mib}MB"


def _time(tc: TimeControl) -> str:
    if isinstance(tc, ClockControl) and tc.moves is None:
        return f"{tc.seconds:.1f}+{tc.increment:.2f}s"
    return str(tc)
