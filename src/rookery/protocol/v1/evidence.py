"""What workers leave behind of a task in the JSON API: games and logs."""

from datetime import datetime

from msgspec import Struct

from rookery.protocol.fields import RunId
from rookery.protocol.v1.pages import PageOf


class GameEntry(Struct, frozen=True, kw_only=True):
    """A game of a task, as its upload tells it; equal openings have equal digests."""

    number: int
    outcome: str
    ending: str
    new_is_white: bool
    plies: int
    opening: str


class GameList(PageOf, frozen=True, kw_only=True):
    """The games of a task in the order of their uploads; a page of them."""

    games: tuple[GameEntry, ...]


class LogEntry(Struct, frozen=True, kw_only=True):
    """A log that a worker sent along with a call."""

    id: int
    run: RunId
    task: int
    call: str
    worker: str
    time: datetime
    size: int


class LogList(PageOf, frozen=True, kw_only=True):
    """A page of the logs of a run, newest first."""

    logs: tuple[LogEntry, ...]
