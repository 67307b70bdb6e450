"""`rookery watch`: follows a run on a server until it is over."""

import sys
from dataclasses import dataclass
from time import monotonic
from typing import Annotated

import msgspec

from rookery.core.client.client import Client
from rookery.core.client.following import Following, Seen
from rookery.core.client.logins import THE_SERVER, ServerFlags
from rookery.core.command import make_printable, option, print_rows
from rookery.core.display import (
    ACCEPTED,
    REJECTED,
    UNDECIDED,
    Row,
    display,
    elo_text,
    games_text,
    left_text,
    pairs_text,
    ratio_text,
)
from rookery.core.model.run import DisplayState
from rookery.core.model.task import Results
from rookery.core.protocol import v1
from rookery.core.protocol.kinds.sprt import SprtDocument
from rookery.core.protocol.user_queries import FixedElo, LiveElo
from rookery.core.stats.sprt import Sprt, SprtState, Verdict

# A run on a server as rows for people, and the exit code for its end.

OVER = (DisplayState.FINISHED, DisplayState.FAILED)


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A run at one time, and its measured speed for when the server does not know one yet."""

    run: v1.RunDetails
    games_per_minute: float = 0.0

    @property
    def results(self) -> Results:
        return self.run.results

    @property
    def is_over(self) -> bool:
        return self.run.state in OVER

    @property
    def speed(self) -> float:
        """Games a minute."""
        return self.run.games_per_minute or self.games_per_minute


def title(run: v1.RunDetails) -> str:
    return make_printable(f"{run.new_tag} vs {run.base_tag} by {run.owner}, {run.tc}")


def rows(watched: WatchedRun) -> list[Row]:
    run, results = watched.run, watched.results
    lines = [("State", str(run.state)), ("Games", games_text(results, run.num_games))]
    if run.kind != "spsa":
        lines.append(("Pairs", pairs_text(results)))
    if elo := _elo(run):
        lines.append(("Elo", elo_text(elo.elo, *elo.ci)))
    sprt = _sprt(run)
    if sprt:
        lines.append(("LLR", ratio_text(sprt[0], sprt[1].llr, sprt[1].bounds(sprt[0]))))
    lines.append(("Machines", f"{run.workers} with {run.cores} cores"))
    if not watched.is_over:
        lines.append(("Speed", f"{watched.speed:.1f} games a minute"))
        lines.append(("Left", _left(watched, sprt)))
    if run.info:
        lines.append(("About", make_printable(run.info.splitlines()[0])))
    return lines


def verdict_code(run: v1.RunDetails) -> int:
    """Return the exit code for the verdict of a run. A failed run has no verdict."""
    if run.state is DisplayState.FAILED:
        return UNDECIDED
    sprt = _sprt(run)
    verdict = sprt[1].verdict if sprt else Verdict.ACCEPTED
    return {Verdict.ACCEPTED: ACCEPTED, Verdict.REJECTED: REJECTED}.get(verdict, UNDECIDED)


def verdict_text(run: v1.RunDetails) -> str:
    words = {ACCEPTED: "accepted", REJECTED: "rejected", UNDECIDED: "undecided"}
    if run.state is DisplayState.FAILED:
        return "The run failed."
    if _sprt(run) is None:
        return "The run is finished."
    return f"The run is finished: {words[verdict_code(run)]}."


def _elo(run: v1.RunDetails) -> FixedElo | LiveElo | None:
    """Return the Elo that is corrected for the bias of stopping, if there is one."""
    if not sum(run.results.pentanomial):
        return None
    return run.live_elo or run.elo or None


def _left(watched: WatchedRun, sprt: tuple[Sprt, SprtState] | None) -> str:
    spec, llr = (sprt[0], sprt[1].llr) if sprt else (None, 0.0)
    games, wanted = watched.results.games, watched.run.num_games
    return left_text(spec, llr, games, wanted=wanted, speed=watched.speed / 60)


def _sprt(run: v1.RunDetails) -> tuple[Sprt, SprtState] | None:
    if "sprt" not in run.args:
        return None
    found = msgspec.convert(run.args["sprt"], SprtDocument)
    return found, SprtState(found.llr, found.state, found.overshoot or None)


SHOWN = frozenset({"State", "Games", "Elo", "LLR", "Left"})


def watch(
    run: Annotated[str, option("id of the run, or an unambiguous beginning of it")],
    /,
    *,
    server: ServerFlags = THE_SERVER,
) -> int:
    """Follow a run until it is over.

    Shows a live table on a terminal, a line every ten seconds elsewhere, and with --json every
    change as a line of JSON. Continues when the server restarts.

    Exit codes: 0 accepted, or finished without a test; 1 rejected; 4 undecided or failed.
    """
    seen, transport = Watch(as_json=server.json), server.transport()
    run_id = Client(transport).find_run(run)
    following = iter(Following(transport, run_id, away=seen.away))
    seen.see(next(following))
    with display(title(seen.watched.run), seen.rows, quiet=server.json, shown=SHOWN) as shown:
        while not seen.watched.is_over:
            seen.see(next(following))
            shown.changed()
    seen.tell_end()
    return verdict_code(seen.watched.run)


class Watch:
    """The latest state of the run. The display's thread reads it, so it is replaced, not
    changed."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._first: tuple[float, int] | None = None
        self._problem = ""
        self.watched: WatchedRun

    def see(self, seen: Seen) -> None:
        self._problem = ""
        self.watched = WatchedRun(seen.run, self._pace(seen))
        if self._as_json:
            print(seen.text, flush=True)

    def away(self, problem: str) -> None:
        """Note that the server does not answer. It will be tried again."""
        if not self._problem and not sys.stdout.isatty():
            print(f"rookery: {problem} Trying again.", file=sys.stderr, flush=True)
        self._problem = problem

    def rows(self) -> list[Row]:
        problem = [("Server", f"{self._problem} Trying again.")] if self._problem else []
        return [*rows(self.watched), *problem]

    def tell_end(self) -> None:
        if self._as_json:
            return
        print_rows(rows(self.watched))
        print(verdict_text(self.watched.run))

    def _pace(self, seen: Seen) -> float:
        """Games a minute since the command was started."""
        now, games = monotonic(), seen.run.results.games
        if self._first is None:
            self._first = now, games
        since, before = self._first
        return 60 * (games - before) / (now - since) if now > since else 0.0
