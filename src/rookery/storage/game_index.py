"""Games as their index has them: a packed entry per game in each of four columns."""

import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import asyncpg

from rookery.protocol.games import Ending, Game, Outcome

OPENING_BYTES = 8
_WHITE = 4
_ENDING_SHIFT = 3


def packed(games: Sequence[Game]) -> tuple[int, bytes, bytes, bytes, bytes]:
    """The columns from `games` on."""
    count = len(games)
    return (
        count,
        bytes(_ending(game) for game in games),
        struct.pack(f"<{count}H", *(game.plies for game in games)),
        b"".join(game.opening for game in games),
        struct.pack(f"<{count}I", *(game.offset for game in games)),
    )


def unpacked(rows: Iterable[asyncpg.Record]) -> tuple[Game, ...]:
    return tuple(chain.from_iterable(map(_games, rows)))


def _ending(game: Game) -> int:
    return game.outcome | _WHITE * game.new_is_white | game.ending << _ENDING_SHIFT


def _games(row: asyncpg.Record) -> Iterator[Game]:
    count = row["games"]
    plies = struct.unpack(f"<{count}H", row["plies"])
    places = struct.unpack(f"<{count}I", row["places"])
    for number, code in enumerate(array("B", row["endings"])):
        yield Game(
            outcome=Outcome(code & 3),
            ending=Ending(code >> _ENDING_SHIFT),
            new_is_white=bool(code & _WHITE),
            plies=plies[number],
            opening=row["openings"][number * OPENING_BYTES : (number + 1) * OPENING_BYTES],
            offset=places[number],
        )
