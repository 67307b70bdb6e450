"""fastchess as a match runner: its command line, its output as events, and where it is found."""

from rookery.worker.fastchess.command import command_line
from rookery.worker.fastchess.invocation import Draw, Invocation, Openings, Pgn, Resign, Side
from rookery.worker.fastchess.reading import read

__all__ = [
    "Draw",
    "Invocation",
    "Openings",
    "Pgn",
    "Resign",
    "Side",
    "command_line",
    "read",
]
