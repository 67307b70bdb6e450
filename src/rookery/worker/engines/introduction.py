"""Starts an engine and lets it introduce itself: whether it speaks UCI, and what options it has."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rookery.boundary.offload import Threads
from rookery.worker.match.faults import EngineFault
from rookery.worker.match.process import EngineProcess, start_process

SECONDS = 60.0
QUIT_SECONDS = 2.0
MOST_OPTIONS = 1000
_OPTION = re.compile(
    r"option name (?P<name>.+?) type (?P<type>\w+)"
    r"(?: default(?: (?P<default>.*?))?)?(?: min (?P<min>-?\d+))?(?: max (?P<max>-?\d+))?"
    r"(?: var .*)?\s*\Z"
)


@dataclass(frozen=True, slots=True)
class UciOption:
    """An option as an engine lists it."""

    name: str
    type: str
    default: str = ""
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Introduction:
    """What an engine says of itself."""

    name: str
    options: tuple[UciOption, ...]
    move: str = ""
    """Its first one from the initial position, when it was asked for it."""


class NoIntroduction(Exception):
    """The program can't be started or does not speak UCI."""

    def __init__(self, why: str, said: str = "") -> None:
        super().__init__(why)
        self.said = said


async def introduce(
    command: Sequence[str],
    threads: Threads,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    seconds: float = SECONDS,
    with_move: bool = False,
) -> Introduction:
    """Ask the engine who it is; raises NoIntroduction."""
    try:
        process = await start_process(command, threads, folder=folder, environment=environment)
    except OSError as error:
        raise NoIntroduction(f"it can't be started: {error.strerror}") from None
    try:
        found = await _asked(process, seconds)
        return replace(found, move=await _moved(process, seconds)) if with_move else found
    except EngineFault as fault:
        why = f"{type(fault).__doc__}"
        raise NoIntroduction(why, "\n".join(process.tail)) from None
    finally:
        await process.quit(QUIT_SECONDS)


async def _asked(process: EngineProcess, seconds: float) -> Introduction:
    lines: list[str] = []

    def note(line: bytes) -> None:
        if len(lines) < MOST_OPTIONS:
            lines.append(line.decode("utf-8", "replace").strip())

    process.write(b"uci")
    await process.expect(b"uciok", seconds, note)
    return read_introduction(lines)


async def _moved(process: EngineProcess, seconds: float) -> str:
    process.write(b"ucinewgame", b"isready")
    await process.expect(b"readyok", seconds)
    process.write(b"position startpos", b"go movetime 100")
    words = (await process.expect(b"bestmove", seconds)).text.split()
    return words[1].decode("ascii", "replace") if len(words) > 1 else ""


def read_introduction(lines: Sequence[str]) -> Introduction:
    """From the lines between `uci` and `uciok`."""
    names = [line.removeprefix("id name ") for line in lines if line.startswith("id name ")]
    found = (_OPTION.match(line) for line in lines)
    options = tuple(_option(match) for match in found if match)
    return Introduction(names[0] if names else "", options)


def _option(match: re.Match[str]) -> UciOption:
    least, most = (int(match[name]) if match[name] else None for name in ("min", "max"))
    return UciOption(match["name"], match["type"], match["default"] or "", least, most)
