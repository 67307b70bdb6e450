"""Tries an engine, from its source or as a program, and makes a record of it."""

import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import chess
import msgspec

from rookery.core.boundary.offload import Threads
from rookery.core.errors import Complaint
from rookery.core.model.engine import EngineRecord, NetRecord, RecipeRecord, SpeedRecord, ToolRecord
from rookery.match.introduction import NoIntroduction, UciIntroduction, introduce
from rookery.worker.engines.bench import NOISY_SPREAD, bench
from rookery.worker.engines.orders import BenchFailed, BenchResult, BuildFailed, EngineOrder
from rookery.worker.engines.recipes import FoundRecipe
from rookery.worker.engines.workshop import Workshop
from rookery.worker.sandbox.sandbox import BuiltEngine

BENCHES = 3
BENCH_SECONDS = 300.0
TOOLS = {"make": "make", "stockfish": "make", "cargo": "cargo", "cmake": "cmake"}
Tell = Callable[[str], None]


class NotPlayable(Complaint):
    """An engine that can't be played: a sentence that says why, and the log that shows it."""

    exit_code = 4

    def __init__(self, sentence: str, log: str = "") -> None:
        super().__init__(sentence)
        self.log = log


@dataclass(frozen=True, slots=True)
class Trial:
    """An engine that plays: its record, its introduction and its speed."""

    record: EngineRecord
    built: BuiltEngine
    introduction: UciIntroduction
    benches: tuple[BenchResult, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialSource:
    """The source of the engine, and the version that is tried."""

    name: str
    repository: str
    commit: str
    known_as: str
    """The address of the source in the record."""


class Trials:
    """Tries engines in one workshop, and reports progress."""

    def __init__(self, workshop: Workshop, threads: Threads, tell: Tell) -> None:
        self._workshop = workshop
        self._threads = threads
        self._tell = tell

    async def from_source(self, source: TrialSource, ways: Sequence[FoundRecipe]) -> Trial:
        """Try recipes until one gives an engine. Raises NotPlayable with the first one's reason."""
        failures: list[NotPlayable] = []
        for way in ways:
            self._tell(f"Building with {way.recipe.kind}, because {way.because} ...")
            record = EngineRecord(
                name=source.name,
                source=source.known_as,
                recipe=way.recipe,
                tools=_tools(way.recipe),
                bench=way.bench,
                nets=way.nets,
            )
            order = EngineOrder(record, source.commit, source.repository, nets=way.net_names)
            try:
                return await self._tried(record, order)
            except NotPlayable as failed:
                failures.append(failed)
                self._tell(str(failed))
        raise failures[0]

    async def program(self, name: str, path: Path) -> Trial:
        """Try a program on this machine."""
        on_path = await self._threads.io(shutil.which, path.name)
        # By its bare name it can be found on other machines too.
        output = path.name if on_path == str(path) else shlex.quote(str(path))
        recipe = RecipeRecord(kind="installed", output=output)
        record = EngineRecord(name=name, recipe=recipe)
        return await self._tried(record, EngineOrder(record, "", ""))

    async def _tried(self, record: EngineRecord, order: EngineOrder) -> Trial:
        try:
            built = await self._workshop.make(order)
            introduction = await self._introduced(built)
        except BuildFailed as failed:
            raise NotPlayable(failed.sentence, failed.log) from None
        except NoIntroduction as failed:
            raise NotPlayable(f"{record.name} does not play: {failed}.", failed.said) from None
        record, benches = await self._benched(built, record)
        record, remarks = _with_options(record, introduction)
        return Trial(record, built, introduction, benches, (*remarks, *_noise(benches)))

    async def _introduced(self, built: BuiltEngine) -> UciIntroduction:
        self._tell("Asking it for a move ...")
        command = (await self._workshop.sandbox()).playing(built)
        found = await introduce(command, self._threads, environment={}, with_move=True)
        if chess.Board().is_legal(_move(found.move)):
            return found
        raise NoIntroduction(f"its first move is {found.move!r}")

    async def _benched(
        self, built: BuiltEngine, record: EngineRecord
    ) -> tuple[EngineRecord, tuple[BenchResult, ...]]:
        """Run the engine's bench three times."""
        self._tell(f"Bench 1 of {BENCHES} ...")
        benches = [await self._first_bench(built, record)]
        for number in range(2, BENCHES + 1):
            self._tell(f"Bench {number} of {BENCHES} ...")
            benches.append(await self._bench(built, record))
        steady = len({each.nodes for each in benches}) == 1
        return (
            msgspec.structs.replace(
                record,
                bench=msgspec.structs.replace(record.bench, must_match=steady),
                speed=SpeedRecord(reference=round(median(each.nps for each in benches))),
            ),
            tuple(benches),
        )

    async def _first_bench(self, built: BuiltEngine, record: EngineRecord) -> BenchResult:
        try:
            return await self._bench(built, record)
        except BenchFailed as failed:
            raise NotPlayable(
                f"{record.name} plays, but workers need a bench and it has none:"
                f" `{record.bench.command}` on its command line prints no number of nodes.",
                failed.log or failed.sentence,
            ) from None

    async def _bench(self, built: BuiltEngine, record: EngineRecord) -> BenchResult:
        loose = msgspec.structs.replace(record.bench, must_match=False)
        sandbox = await self._workshop.sandbox()
        return await bench(
            built,
            msgspec.structs.replace(record, bench=loose),
            slots=1,
            seconds=BENCH_SECONDS,
            sandbox=sandbox,
        )


def _tools(recipe: RecipeRecord) -> tuple[ToolRecord, ...]:
    tool = TOOLS.get(recipe.kind)
    return (ToolRecord(tool),) if tool else ()


def _move(text: str) -> chess.Move:
    try:
        return chess.Move.from_uci(text)
    except ValueError:
        return chess.Move.null()


def _with_options(
    record: EngineRecord, introduction: UciIntroduction
) -> tuple[EngineRecord, tuple[str, ...]]:
    """Return the record with what the engine's options tell about nets, and the usual options that
    it lacks."""
    names = {option.name.lower(): option for option in introduction.options}
    lacking = tuple(
        f"It has no option {name}." for name in ("Hash", "Threads") if name.lower() not in names
    )
    net = names.get("evalfile")
    if net and record.nets.use == "none":
        nets = NetRecord(use="uci_option", name=net.name)
        record = msgspec.structs.replace(record, nets=nets)
    return record, lacking


def _noise(benches: Sequence[BenchResult]) -> tuple[str, ...]:
    speeds = [each.nps for each in benches]
    spread = (max(speeds) - min(speeds)) / max(median(speeds), 1.0)
    nodes = {each.nodes for each in benches}
    remarks = []
    if spread > NOISY_SPREAD:
        remarks.append(f"Its speed differs by {spread:.0%} between benches: the machine is busy.")
    if len(nodes) > 1:
        remarks.append(
            "Its bench counts a different number of nodes each time, so that it can't tell"
            " versions apart."
        )
    return tuple(remarks)
