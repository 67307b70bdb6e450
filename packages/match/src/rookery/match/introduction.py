"""An engine's introduction: starts a program, reads what it says to `uci`, and lets it end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.match.engine_process import EngineProcess, start_process
from rookery.match.job import EngineFault

SECONDS = 60.0
QUIT_SECONDS = 2.0
MOST_OPTIONS = 1000
LONGEST_NUMBER = 18
_KEYS = frozenset({"default", "min", "max", "var"})


@dataclass(frozen=True, slots=True)
class UciOption:
    """An option in an engine's list."""

    name: str
    type: str
    default: str = ""
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class UciIntroduction:
    """What an engine reports about itself."""

    name: str
    options: tuple[UciOption, ...]
    move: str = ""
    """The engine's first move in the initial position, if it was asked for one."""


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
) -> UciIntroduction:
    """Start an engine and read its introduction. Raises NoIntroduction."""
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


async def _asked(process: EngineProcess, seconds: float) -> UciIntroduction:
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


def read_introduction(lines: Sequence[str]) -> UciIntroduction:
    """Parse the lines between `uci` and `uciok`."""
    names = [line.removeprefix("id name ") for line in lines if line.startswith("id name ")]
    found = (_option(line.split()) for line in lines)
    return UciIntroduction(names[0] if names else "", tuple(filter(None, found)))


def _option(words: Sequence[str]) -> UciOption | None:
    """Parse an option word by word. A pattern with three texts of any length would take quadratic
    time."""
    if list(words[:2]) != ["option", "name"] or "type" not in words[3:-1]:
        return None
    place = words.index("type", 3)
    name, kind, rest = " ".join(words[2:place]), words[place + 1], words[place + 2 :]
    if kind == "string":
        # Every word after `default` belongs to the text, also `min` and `var`.
        return UciOption(name, kind, " ".join(rest[1:]) if rest[:1] == ["default"] else "")
    said: dict[str, list[str]] = {}
    for word in rest:
        if word in _KEYS:
            key = said.setdefault(word, [])
        elif said:
            key.append(word)
    least, most = (_whole(said.get(key, [])) for key in ("min", "max"))
    return UciOption(name, kind, " ".join(said.get("default", [])), least, most)


def _whole(words: Sequence[str]) -> int | None:
    digits = words[0].removeprefix("-") if len(words) == 1 else ""
    good = digits.isascii() and digits.isdecimal() and len(digits) <= LONGEST_NUMBER
    return int(words[0]) if good else None
