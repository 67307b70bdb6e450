"""`rookery watch`: follows a run on a server until it is over."""

import argparse
import sys
from time import monotonic

from rookery.cli.calling import add_server, transport_of
from rookery.cli.match_display import display
from rookery.cli.match_figures import Row
from rookery.cli.watch_figures import Glance, rows, title, verdict_code, verdict_text
from rookery.client import Client
from rookery.client.following import Following, Seen

SHOWN = frozenset({"State", "Games", "Elo", "LLR", "Left"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Shows how a run stands while it is played: a live table on a terminal, a"
        " line every ten seconds elsewhere, every change as a line of JSON with --json. It goes on"
        " when the server restarts. Exit codes: 0 accepted, or finished without a test; 1"
        " rejected; 4 undecided or failed."
    )
    parser.add_argument("id", metavar="RUN", help="its id, or as much of it as names no other")
    add_server(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    watch, transport = Watch(as_json=parsed.json), transport_of(parsed)
    run_id = Client(transport).find_run(parsed.id)
    following = iter(Following(transport, run_id, away=watch.away))
    watch.see(next(following))
    with display(title(watch.glance.run), watch.rows, quiet=parsed.json, shown=SHOWN) as shown:
        while not watch.glance.is_over:
            watch.see(next(following))
            shown.changed()
    watch.tell_end()
    return verdict_code(watch.glance.run)


class Watch:
    """What was seen last. The display's thread reads it, so that it is replaced and not changed."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._first: tuple[float, int] | None = None
        self._problem = ""
        self.glance: Glance

    def see(self, seen: Seen) -> None:
        self._problem = ""
        self.glance = Glance(seen.run, self._pace(seen))
        if self._as_json:
            print(seen.text, flush=True)

    def away(self, problem: str) -> None:
        """The server does not answer; it is tried again."""
        if not self._problem and not sys.stdout.isatty():
            print(f"rookery: {problem} Trying again.", file=sys.stderr, flush=True)
        self._problem = problem

    def rows(self) -> list[Row]:
        problem = [("Server", f"{self._problem} Trying again.")] if self._problem else []
        return [*rows(self.glance), *problem]

    def tell_end(self) -> None:
        if self._as_json:
            return
        found = rows(self.glance)
        width = max(len(label) for label, _ in found)
        print("\n".join(f"{label:{width}}  {text}" for label, text in found))
        print(verdict_text(self.glance.run))

    def _pace(self, seen: Seen) -> float:
        """Games a minute since we look."""
        now, games = monotonic(), seen.run.results.results().games
        if self._first is None:
            self._first = now, games
        since, before = self._first
        return 60 * (games - before) / (now - since) if now > since else 0.0
