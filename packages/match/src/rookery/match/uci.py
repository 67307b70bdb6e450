"""Talks UCI with one engine: start, options, new game, moves. Restarts the engine after a
failure."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from time import perf_counter

from rookery.core.boundary.offload import Threads
from rookery.match.clock import LATE_SLACK_SECONDS, SpentTime, spent_time
from rookery.match.engine_output import NOTHING_SAID, LastScore, SearchInfo, read_info
from rookery.match.engine_process import EngineProcess, TimedLine, start_process, wall_offset
from rookery.match.job import EngineFault, EngineGone, EngineSpec, EngineTimeouts, MatchFault

STARTS = 3
"""How often in a row an engine may fail at its start."""


@dataclass(frozen=True, slots=True)
class EngineMove:
    """A move, the time that it took, and the engine's search."""

    move: str
    spent: SpentTime
    read_at: float
    info: SearchInfo


class UciEngine:
    """An engine that plays for one slot. Its process may be replaced."""

    def __init__(self, spec: EngineSpec, timeouts: EngineTimeouts, threads: Threads) -> None:
        self.spec = spec
        self._timeouts = timeouts
        self._threads = threads
        self._process: EngineProcess | None = None
        self._offered: dict[str, str] = {}
        self.own_name = ""
        self._set: dict[str, str] = {}
        """The values of its options as it reported and as they were set, by name in lower case."""
        self._asked_at = 0.0
        self._offset = 0.0

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines exchanged with the present or last process."""
        return self._process.tail if self._process else ()

    @property
    def offered(self) -> frozenset[str]:
        """The names of the engine's options."""
        return frozenset(self._offered.values())

    async def prepare(self, spec: EngineSpec, *, chess960: bool) -> None:
        """Make sure that a process runs with these options. Raises MatchFault."""
        if self._process and not (self._process.is_sound and spec.runs_like(self.spec)):
            await self.kill()
        self.spec = spec
        if self._process is None:
            await self._start()
        with contextlib.suppress(EngineFault):
            self._set_options(self._wished(chess960=chess960))

    async def new_game(self) -> None:
        """Announce a new game, and wait until the engine is ready. Raises EngineFault."""
        process = self._running()
        process.write(b"ucinewgame", b"isready")
        await process.expect(b"readyok", self._timeouts.ready)

    def start_search(self, position: bytes, go: bytes) -> None:
        """Start to search a position. Raises EngineFault."""
        process = self._running()
        process.score = LastScore()
        process.write(position, go)
        # After the write, so that a delay of this process is not charged to the engine.
        self._asked_at = perf_counter()
        self._offset = wall_offset()

    async def read_move(self, seconds: float) -> EngineMove:
        """Wait for the move of the search. Raises EngineFault."""
        process = self._running()
        line = await process.expect(b"bestmove", seconds)
        words = line.text.split(maxsplit=2)
        move = words[1].decode("ascii", "replace") if len(words) > 1 else ""
        said = process.score.line
        info = read_info(said) if said else NOTHING_SAID
        return EngineMove(move, self._spent(line), line.read_at, info)

    def _spent(self, line: TimedLine) -> SpentTime:
        """Return the time of a move. Timestamps use the wall clock, which people may set
        meanwhile."""
        was_set = abs(wall_offset() - self._offset) > LATE_SLACK_SECONDS
        return spent_time(self._asked_at, line.read_at, None if was_set else line.written_at)

    async def kill(self) -> None:
        """End the process at once."""
        if self._process:
            process, self._process = self._process, None
            await process.kill()

    async def quit(self) -> None:
        """End the process with `quit`, and kill it if that does not work."""
        if self._process:
            process, self._process = self._process, None
            await process.quit(self._timeouts.quit)

    def _running(self) -> EngineProcess:
        assert self._process is not None
        return self._process

    async def _start(self) -> None:
        for _ in range(STARTS):
            try:
                return await self._start_once()
            except EngineFault as fault:
                failed, said = fault, [line for line in self.tail if not line.startswith(">")]
                await self.kill()
            # An engine that runs but is silent would only be waited for in vain again.
            if not isinstance(failed, EngineGone):
                break
        last = f" (its last words: {said[-1][2:200]})" if said else ""
        raise _unusable(self.spec, f"after `uci` {type(failed).__doc__}{last}")

    async def _start_once(self) -> None:
        spec = self.spec
        environment = None if spec.environment is None else dict(spec.environment)
        try:
            self._process = await start_process(
                spec.command, self._threads, folder=spec.folder, environment=environment
            )
        except OSError as error:
            raise _unusable(spec, f"{spec.command[0]}: {error.strerror}") from None
        self._offered, self._set = {}, {}
        self._process.write(b"uci")
        await self._process.expect(b"uciok", self._timeouts.start, self._note_identity)

    def _note_identity(self, line: bytes) -> None:
        words = line.decode("utf-8", "replace").split()
        if words[:2] == ["id", "name"]:
            self.own_name = " ".join(words[2:])
        if words[:2] == ["option", "name"] and "type" in words:
            name = " ".join(words[2 : words.index("type")])
            self._offered[name.lower()] = name
            if (default := _default_of(words)) is not None:
                self._set[name.lower()] = default

    def _wished(self, *, chess960: bool) -> Iterable[tuple[str, str]]:
        given = {name.lower() for name, _ in self.spec.options}
        if "threads" in self._offered and "threads" not in given:
            yield "Threads", str(self.spec.threads)
        if "uci_chess960" in self._offered and "uci_chess960" not in given:
            yield "UCI_Chess960", str(chess960).lower()
        # Threads first, because an engine sizes its other tables by their number.
        yield from sorted(self.spec.options, key=lambda option: option[0].lower() != "threads")

    def _set_options(self, wished: Iterable[tuple[str, str]]) -> None:
        """Send what differs from what the engine has. Some engines hang when they are told a value
        that they have already."""
        for name, value in wished:
            if self._set.get(name.lower()) != value:
                text = f"setoption name {name}" + (f" value {value}" if value else "")
                self._running().write(text.encode())
                self._set[name.lower()] = value


_AFTER_DEFAULT = {"spin": ("min", "max"), "combo": ("var",)}
"""The words that may follow a default, by type; that of a string reaches to the end of the line."""


def _default_of(words: Sequence[str]) -> str | None:
    """Return the value that an `option` line reports; None if it reports none."""
    kind, *rest = words[words.index("type") + 1 :] or ("",)
    if "default" not in rest:
        return None
    ends = _AFTER_DEFAULT.get(kind, ())
    return " ".join(takewhile(lambda word: word not in ends, rest[rest.index("default") + 1 :]))


def _unusable(spec: EngineSpec, why: str) -> MatchFault:
    """Return the fault for an engine that can't be started or does not speak UCI, so that no game
    would be fair."""
    return MatchFault(f"The engine {spec.name} cannot play: {why}.")


# Starts engines once before a match, to learn their names and options.

LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class InspectedEngine:
    """What an engine reported about itself. The name is empty if it reported none."""

    name: str
    options: frozenset[str]


async def inspect_engines(
    specs: Sequence[EngineSpec], waiting_for: Callable[[EngineSpec], object]
) -> tuple[InspectedEngine, ...]:
    """Start each engine once, in order, and read its introduction. Raises MatchFault."""
    threads, found = Threads(), list[InspectedEngine]()
    for spec in specs:
        waiting_for(spec)
        found.append(await _inspected(spec, threads))
    return tuple(found)


async def _inspected(spec: EngineSpec, threads: Threads) -> InspectedEngine:
    engine = UciEngine(spec, EngineTimeouts(), threads)
    try:
        await engine.prepare(spec, chess960=False)
        return InspectedEngine(_presentable(engine.own_name), engine.offered)
    finally:
        await engine.quit()


def _presentable(name: str) -> str:
    """Return the name as one printable line of limited length."""
    plain = "".join(letter if letter.isprintable() else " " for letter in name)
    return " ".join(plain.split())[:LONGEST_NAME].rstrip()


def unknown_options(spec: EngineSpec, offered: frozenset[str]) -> list[str]:
    """Options that are set but that the engine does not have. UCI ignores case."""
    known = {name.lower() for name in offered}
    return [name for name, _ in spec.options if name.lower() not in known]
