"""Importing an engine's description from OpenBench as an engine record, with remarks on what has no
counterpart here.

Its presets inherit: `default` contains the defaults of all others of its kind.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from rookery.model.engine import (
    EngineRecord,
    NetRecord,
    PresetRecord,
    RecipeRecord,
    SpeedRecord,
    ToolRecord,
)
from rookery.protocol.codec import Reader
from rookery.protocol.v1 import LARGEST_RECORD

SYSTEMS = {"linux": "linux", "windows": "windows", "darwin": "macos"}
FLAGS = {"SSE41": "sse4_1", "SSE4.1": "sse4_1", "SSE42": "sse4_2", "SSE4.2": "sse4_2"}
PGNS = {"FALSE": "none", "COMPACT": "moves", "VERBOSE": "full"}
NEUTRAL = "None"

_BOUNDS = re.compile(r"\[\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*\]")
_WIN = re.compile(r"movecount=(\d+) score=(\d+)")
_DRAW = re.compile(r"movenumber=(\d+) movecount=(\d+) score=(\d+)")
_MEN = re.compile(r"(\d)-MAN")

Settings = dict[str, object]


class OpenBenchBuild(msgspec.Struct, frozen=True):
    """How an engine is built; a private engine has neither path nor compilers."""

    path: str = ""
    compilers: tuple[str, ...] = ()
    cpuflags: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()


class OpenBenchEngine(msgspec.Struct, frozen=True):
    """A file in OpenBench's folder `Engines`."""

    source: str
    nps: float = 0
    private: bool = False
    build: OpenBenchBuild = OpenBenchBuild()
    test_presets: dict[str, dict[str, object]] = msgspec.field(default_factory=dict)
    tune_presets: dict[str, dict[str, object]] = msgspec.field(default_factory=dict)
    datagen_presets: dict[str, dict[str, object]] = msgspec.field(default_factory=dict)


OPENBENCH_ENGINE = Reader(OpenBenchEngine, most_bytes=LARGEST_RECORD)


@dataclass(frozen=True, slots=True)
class ImportedEngine:
    """The record, and a sentence for each thing that could not be mapped."""

    record: EngineRecord
    not_mapped: tuple[str, ...]


def import_engine(name: str, engine: OpenBenchEngine, team: str = "") -> ImportedEngine:
    """Converts an engine of OpenBench."""
    remarks: list[str] = []
    private = engine.private and bool(team)
    if engine.private:
        remarks += _remark_on_private(engine, team)
    recipe = RecipeRecord(
        kind="make", directory=engine.build.path.strip("/."), compilers=engine.build.compilers
    )
    record = EngineRecord(
        name=f"{team}~{name}" if private else name,
        source=engine.source,
        recipe=recipe,
        tools=_list_tools(engine.build.compilers),
        cpu_flags=tuple(FLAGS.get(flag, flag.lower()) for flag in engine.build.cpuflags),
        systems=tuple(_list_systems(engine.build.systems, remarks)),
        speed=SpeedRecord(reference=engine.nps or None),
        nets=NetRecord(use="build_variable", name="EVALFILE"),
        team=team,
        private=private,
        presets=tuple(_list_presets(engine, remarks)),
    )
    return ImportedEngine(record, tuple(dict.fromkeys(remarks)))


def _remark_on_private(engine: OpenBenchEngine, team: str) -> Iterator[str]:
    if not team:
        yield "private: an engine is private to a team; name it with --team"
    if not engine.build.compilers:
        yield "build: OpenBench has it built elsewhere; write a recipe, or submit programs"


def _list_tools(compilers: tuple[str, ...]) -> tuple[ToolRecord, ...]:
    """The tools that a machine needs; none of several alternative compilers is required."""
    only = compilers[0].partition(">=") if len(compilers) == 1 else ("", "", "")
    named = (ToolRecord(only[0], only[2]),) if only[0] else ()
    return (ToolRecord("make"), *named)


def _list_systems(names: tuple[str, ...], remarks: list[str]) -> Iterator[str]:
    for name in names:
        if known := SYSTEMS.get(name.lower()):
            yield known
        else:
            remarks.append(f"build: the system {name} is not known here")


def _list_presets(engine: OpenBenchEngine, remarks: list[str]) -> Iterator[PresetRecord]:
    kinds = (("", TEST, engine.test_presets), ("tune ", TUNE, engine.tune_presets))
    for kind, mappers, presets in kinds:
        common = presets.get("default", {})
        for name, own in presets.items():
            settings = _Settings(f"preset {kind}{name}", mappers, remarks)
            settings.take({**common, **own})
            yield PresetRecord(f"{kind}{name}", settings.texts())
    remarks += [
        f"preset {name} of datagen_presets: there are no runs that make data"
        for name in engine.datagen_presets
    ]


class _Settings:
    """The fields of one preset under the names of a submission."""

    def __init__(self, place: str, mappers: "Mappers", remarks: list[str]) -> None:
        self._place = place
        self._mappers = mappers
        self._remarks = remarks
        self._fields: Settings = {}

    def take(self, given: Mapping[str, object]) -> None:
        for name, value in given.items():
            mapped = self._mappers[name](str(value)) if name in self._mappers else None
            if mapped is None:
                self._remarks.append(f"{self._place}: {name} = {value}")
            else:
                self._merge(mapped)
        if self._fields.get("num_games"):
            # OpenBench plays either a number of games or until its bounds; a given number decides
            # which.
            self._fields.pop("sprt", None)

    def _merge(self, mapped: Settings) -> None:
        for name, value in mapped.items():
            known = self._fields.get(name)
            both = isinstance(known, dict) and isinstance(value, dict)
            self._fields[name] = {**known, **value} if both else value  # type: ignore[dict-item]  # both

    def texts(self) -> dict[str, str]:
        """The values in the form of `rookery submit --set`: text as it is, anything else as
        JSON."""
        return {
            name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
            for name, value in self._fields.items()
        }


def _options(*names: str) -> Callable[[str], Settings]:
    """Separates UCI options from the threads, which are a separate field."""

    def read(text: str) -> Settings:
        words = text.split()
        threads = [word.partition("=")[2] for word in words if word.startswith("Threads=")]
        rest = " ".join(word for word in words if not word.startswith("Threads="))
        fields: Settings = dict.fromkeys(names, rest)
        return fields | ({"threads": int(threads[0])} if threads and threads[0].isdigit() else {})

    return read


def _same(*names: str) -> Callable[[str], Settings]:
    return lambda text: dict.fromkeys(names, text)


def _number(name: str) -> Callable[[str], Settings | None]:
    return lambda text: {name: int(text)} if text.lstrip("-").isdigit() else None


def _bounds(first: str, second: str) -> Callable[[str], Settings | None]:
    def read(text: str) -> Settings | None:
        found = _BOUNDS.fullmatch(text.strip())
        return {"sprt": {first: float(found[1]), second: float(found[2])}} if found else None

    return read


def _win(text: str) -> Settings | None:
    found = _WIN.match(text)
    rule = {"score": int(found[2]), "moves": int(found[1])} if found else None
    return {"resign": rule} if rule else ({} if text == NEUTRAL else None)


def _draw(text: str) -> Settings | None:
    found = _DRAW.match(text)
    if found is None:
        return {} if text == NEUTRAL else None
    numbers = map(int, found.groups())
    return {"draw": dict(zip(("from_move", "moves", "score"), numbers, strict=True))}


def _men(text: str) -> Settings | None:
    found = _MEN.fullmatch(text)
    return {"syzygy_men": int(found[1])} if found else ({} if text == "DISABLED" else None)


def _pgns(text: str) -> Settings | None:
    return {"pgn_detail": PGNS[text.upper()]} if text.upper() in PGNS else None


def _share(name: str) -> Callable[[str], Settings | None]:
    def read(text: str) -> Settings | None:
        try:
            return {"spsa": {name: float(text)}}
        except ValueError:
            return None

    return read


Mappers = Mapping[str, Callable[[str], Settings | None]]

_EITHER: Mappers = {
    "book_name": _same("book"),
    "upload_pgns": _pgns,
    "priority": _number("priority"),
    "throughput": _number("throughput"),
    "syzygy_adj": _men,
    "win_adj": _win,
    "draw_adj": _draw,
}
TEST: Mappers = {
    **_EITHER,
    "both_options": _options("new_options", "base_options"),
    "dev_options": _options("new_options"),
    "base_options": _options("base_options"),
    "both_time_control": _same("tc"),
    "dev_time_control": _same("new_tc"),
    "base_time_control": _same("tc"),
    "both_branch": _same("new_tag", "base_tag"),
    "dev_branch": _same("new_tag"),
    "base_branch": _same("base_tag"),
    "both_bench": _same("new_signature", "base_signature"),
    "dev_bench": _same("new_signature"),
    "base_bench": _same("base_signature"),
    "test_bounds": _bounds("elo0", "elo1"),
    "test_confidence": _bounds("alpha", "beta"),
    "test_max_games": _number("num_games"),
}
TUNE: Mappers = {
    **_EITHER,
    "dev_options": _options("new_options", "base_options"),
    "dev_time_control": _same("tc"),
    "dev_branch": _same("new_tag", "base_tag"),
    "dev_bench": _same("new_signature", "base_signature"),
    "spsa_alpha": _share("alpha"),
    "spsa_gamma": _share("gamma"),
    "spsa_A_ratio": _share("A"),
}
