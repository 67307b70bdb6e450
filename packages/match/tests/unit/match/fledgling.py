"""Fledgling without a process: what it is told and what it says."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rookery.match.fledgling import Fledgling, InputLines


@contextmanager
def spoken(*commands: str) -> Iterator[InputLines]:
    """Yield an lines with these lines; its other end stays open, or the engine would leave."""
    reading, writing = os.pipe()
    try:
        os.write(writing, "".join(f"{command}\n" for command in commands).encode())
        yield InputLines(reading)
    finally:
        os.close(reading)
        os.close(writing)


def conversation(*commands: str) -> list[str]:
    """Return what the engine says to these commands, all of which are there from the beginning."""
    said: list[str] = []
    with spoken(*commands, "quit") as lines:
        Fledgling(lines, said.append).run()
    return said


def thought(position: str, go: str, *before: str) -> list[str]:
    """Return what the engine says about one position."""
    said: list[str] = []
    with spoken() as lines:
        engine = Fledgling(lines, said.append)
        for command in (*before, f"position {position}", f"go {go}"):
            engine.obey(command)
    return said


def best_move(said: list[str]) -> str:
    return said[-1].removeprefix("bestmove ")
