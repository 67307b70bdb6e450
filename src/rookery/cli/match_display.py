"""Shows a match while it is played: a live table on a terminal, a line now and then elsewhere."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

Row = tuple[str, str]
Rows = Callable[[], list[Row]]
"""Asked for whenever something is to be shown."""

PLAIN_SECONDS = 10.0
INTERRUPTIONS = (KeyboardInterrupt, asyncio.CancelledError)


class Display(Protocol):
    """Is told that something has changed."""

    def changed(self) -> None: ...


class Silent:
    def changed(self) -> None:
        """Programs read the result alone."""


class Plain:
    """One line every ten seconds, for logs."""

    def __init__(self, rows: Rows, shown: frozenset[str]) -> None:
        self._rows = rows
        self._shown = shown
        self._next = monotonic() + PLAIN_SECONDS

    def changed(self) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + PLAIN_SECONDS
            self.tell()

    def tell(self) -> None:
        texts = [f"{label} {text}" for label, text in self._rows() if label in self._shown]
        print(" | ".join(texts), flush=True)


def table(title: str, rows: list[Row]) -> Table:
    shown = Table.grid(padding=(0, 2))
    shown.title, shown.title_justify = Text(title), "left"
    for label, text in rows:
        shown.add_row(Text(label, style="bold"), Text(text))
    return shown


class _Refreshed:
    """Rendered by the display's own thread, twice a second."""

    def __init__(self, title: str, rows: Rows) -> None:
        self._title = title
        self._rows = rows

    def __call__(self) -> Table:
        return table(self._title, self._rows())


@contextlib.contextmanager
def display(
    title: str,
    rows: Rows,
    *,
    quiet: bool,
    shown: frozenset[str] = frozenset({"Games", "Elo", "LLR", "Runner"}),
) -> Iterator[Display]:
    """The display that suits where the output goes; interrupted, it leaves what was reached."""
    if quiet:
        yield Silent()
    elif not sys.stdout.isatty():
        plain = Plain(rows, shown)
        try:
            yield plain
        except INTERRUPTIONS:
            plain.tell()
            raise
    else:
        with Live(
            console=Console(),
            get_renderable=_Refreshed(title, rows),
            refresh_per_second=2,
            transient=True,
        ) as live:
            try:
                yield Silent()
            except INTERRUPTIONS:
                # What was reached stays to be read; the end of a match prints it by itself.
                live.transient = False
                raise
