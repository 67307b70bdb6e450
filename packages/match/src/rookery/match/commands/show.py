"""The figures of a match between two engines, as rows for people and as data for programs."""

from dataclasses import dataclass
from math import isfinite

from rookery.core.boundary.watch import Histogram
from rookery.core.display import Row, elo_text, games_text, left_text, pairs_text, ratio_text
from rookery.core.stats.elo import estimate_elo, live_elo
from rookery.core.stats.sprt import Verdict
from rookery.match.clock import Latency
from rookery.match.results import MatchScore

Data = dict[str, object]


@dataclass(frozen=True, slots=True)
class Progress:
    """A score, the time that it took, and the number of games to be played, if limited."""

    score: MatchScore
    seconds: float
    games_wanted: int | None = None
    latency: Latency | None = None

    @property
    def games_per_second(self) -> float:
        return self.score.results.games / self.seconds if self.seconds > 0 else 0.0


def elo_of(score: MatchScore) -> tuple[float, float, float]:
    """Elo with its 95 % interval. For a sequential test it is corrected for the bias of
    stopping."""
    results = score.results
    if score.sprt:
        live = live_elo(score.sprt, results.pentanomial, results.trinomial)
        return live.elo, live.low, live.high
    fixed = estimate_elo(results.pentanomial)
    return fixed.elo, fixed.low, fixed.high


def rows(progress: Progress) -> list[Row]:
    """Return the figures for the display, for plain lines and for the end of a match."""
    score = progress.score
    results = score.results
    lines = [("Games", games_text(results, progress.games_wanted)), ("Pairs", pairs_text(results))]
    if results.pairs:
        elo, low, high = elo_of(score)
        lines.append(("Elo", elo_text(elo, low, high)))
    if score.sprt:
        bounds = score.state.bounds(score.sprt)
        lines.append(("LLR", ratio_text(score.sprt, score.state.llr, bounds)))
    lines.append(("White", f"{score.white_share:.1%} of the points"))
    lines.append(("Ends", _ends(score)))
    lines.append(("Speed", f"{60 * progress.games_per_second:.1f} games a minute"))
    if score.verdict is Verdict.RUNNING:
        lines.append(("Left", _left(progress)))
    if progress.latency is not None:
        lines.append(("Runner", _latency(progress.latency)))
        if progress.latency.late_answers:
            lines.append(("Late", _lateness(progress.latency)))
    return lines


def data(progress: Progress) -> Data:
    score = progress.score
    results = score.results
    elo, low, high = elo_of(score) if results.pairs else (0.0, -1000.0, 1000.0)
    return {
        "games": results.games,
        "wins": results.wins,
        "losses": results.losses,
        "draws": results.draws,
        "pentanomial": list(results.pentanomial),
        "crashes": results.crashes,
        "time_losses": results.time_losses,
        "elo": {"value": elo, "low": low, "high": high},
        "white_share": score.white_share,
        "terminations": dict(score.terminations),
        "seconds": progress.seconds,
        **_sprt_data(score),
        **({} if progress.latency is None else {"latency": latency_data(progress.latency)}),
    }


def latency_data(latency: Latency) -> Data:
    """Return the runner's latencies in milliseconds, and its CPU time per move in microseconds."""
    return {
        "turnaround_ms": _quantiles(latency.turnaround),
        "lag_ms": _quantiles(latency.lag),
        "cpu_us_per_ply": 1e6 * latency.cpu_seconds / max(1, latency.plies),
        "plies": latency.plies,
        "late_answers": latency.late_answers,
        "late_ms": 1e3 * latency.late_seconds,
        "flags_spared": latency.flags_spared,
    }


def _quantiles(times: Histogram) -> Data:
    """Quantiles. Null stands for a value above the histogram's last bound, since JSON has no
    infinity."""
    found = {"p50": times.quantile(0.5), "p99": times.quantile(0.99)}
    return {name: 1e3 * value if isfinite(value) else None for name, value in found.items()}


def _sprt_data(score: MatchScore) -> Data:
    if not score.sprt:
        return {}
    lower, upper = score.state.bounds(score.sprt)
    return {
        "sprt": {
            "elo0": score.sprt.elo0,
            "elo1": score.sprt.elo1,
            "model": score.sprt.model.value,
            "llr": score.state.llr,
            "lower": lower,
            "upper": upper,
            "verdict": score.verdict.value or "running",
        }
    }


def _ends(score: MatchScore) -> str:
    counts = sorted(score.terminations.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {count}" for name, count in counts) or "none yet"


def _left(progress: Progress) -> str:
    score, wanted = progress.score, progress.games_wanted
    games = score.results.games
    if score.sprt is None and wanted is None:
        return ""
    return left_text(
        score.sprt, score.state.llr, games, wanted=wanted, speed=progress.games_per_second
    )


def _latency(latency: Latency) -> str:
    turnaround, lag = latency.turnaround, latency.lag
    return (
        f"turnaround p50 {1e3 * turnaround.quantile(0.5):.2f} ms, p99"
        f" {1e3 * turnaround.quantile(0.99):.2f} ms; lag p50 {1e3 * lag.quantile(0.5):.2f} ms, p99"
        f" {1e3 * lag.quantile(0.99):.2f} ms"
    )


def _lateness(latency: Latency) -> str:
    return (
        f"{1e3 * latency.late_seconds:.0f} ms in {latency.late_answers} answers, charged to nobody;"
        f" {latency.flags_spared} of them read after the flag"
    )
