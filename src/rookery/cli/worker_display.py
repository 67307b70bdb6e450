"""Shows a worker: a status line on a terminal, plain lines with the time elsewhere."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from datetime import datetime

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rookery.worker.session.watching import Status, Watcher


def line(status: Status) -> str:
    """A status in one line."""
    if not status.games:
        return f"{status.run}: {status.doing}" if status.run else status.doing
    found = status.results
    counts = f"+{found.wins} -{found.losses} ={found.draws}"
    pairs = " ".join(map(str, found.pentanomial))
    troubles = found.crashes + found.time_losses
    failed = f", {troubles} lost by failure" if troubles else ""
    played = f"{found.games} of {status.games} games"
    return f"{status.run}: {status.doing}, {played}, {counts}, pairs {pairs}{failed}"


class PlainDisplay:
    """For logs: sentences as they come, and the status when what is being done changes."""

    def __init__(self, write: Callable[[str], object], now: Callable[[], datetime]) -> None:
        self._write = write
        self._now = now
        self._shown = Status("")

    def say(self, sentence: str) -> None:
        self._write(f"{self._now():%H:%M:%S} {sentence}")

    def show(self, status: Status) -> None:
        last, self._shown = self._shown, status
        if (status.doing, status.run) != (last.doing, last.run):
            self.say(line(status))


class LiveDisplay:
    """For people: sentences scroll by above one line that is always up to date."""

    def __init__(self, console: Console, now: Callable[[], datetime]) -> None:
        self._console = console
        self._now = now
        self._status = Status("starting")

    def say(self, sentence: str) -> None:
        self._console.print(Text(f"{self._now():%H:%M:%S} {sentence}"))

    def show(self, status: Status) -> None:
        self._status = status

    def render(self) -> Text:
        return Text(line(self._status), style="bold", no_wrap=True, overflow="ellipsis")


@contextlib.contextmanager
def display() -> Iterator[Watcher]:
    """The one that suits where the output goes."""
    if not sys.stdout.isatty():
        yield PlainDisplay(lambda text: print(text, flush=True), datetime.now)
        return
    console = Console()
    shown = LiveDisplay(console, datetime.now)
    with Live(console=console, get_renderable=shown.render, refresh_per_second=2, transient=True):
        yield shown
