"""An engine at a table of its own: what it is told and what it says, without a process."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rookery.engine.session import Session
from rookery.engine.thinking import Inbox


@contextmanager
def spoken(*commands: str) -> Iterator[Inbox]:
    """An inbox with these lines; its other end stays open, or the engine would leave."""
    reading, writing = os.pipe()
    try:
        os.write(writing, "".join(f"{command}\n" for command in commands).encode())
        yield Inbox(reading)
    finally:
        os.close(reading)
        os.close(writing)


def conversation(*commands: str) -> list[str]:
    """What the engine says to these commands, all of which are there from the beginning."""
    said: list[str] = []
    with spoken(*commands, "quit") as inbox:
        Session(inbox, said.append).run()
    return said


def thought(position: str, go: str, *before: str) -> list[str]:
    """What the engine says about one position."""
    said: list[str] = []
    with spoken() as inbox:
        session = Session(inbox, said.append)
        for command in (*before, f"position {position}", f"go {go}"):
            session.obey(command)
    return said


def best_move(said: list[str]) -> str:
    return said[-1].removeprefix("bestmove ")
