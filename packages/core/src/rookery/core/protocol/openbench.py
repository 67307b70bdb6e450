"""Importing an engine's description from OpenBench as an engine record, with remarks on what has no
counterpart here.

Its presets fill a form one after the other: `default` first, then the chosen one. What is filled in
later counts, also where one setting stands for both sides and another for one of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from rookery.core.model.engine import (
    EngineRecord,
    NetRecord,
    PresetRecord,
    RecipeRecord,
    SpeedRecord,
    ToolRecord,
)
from rookery.core.model.timecontrol import BadTimeControl, parse
from rookery.core.model.tools import list_unreported
from rookery.core.protocol.codec import Reader
from rookery.core.protocol.v1 import LARGEST_RECORD

SYSTEMS = {"linux": "linux", "windows": "windows", "darwin": "macos"}
UNDERSCORED = (
    *("sse4_1", "sse4_2", "avx_vnni", "avx512_vnni", "avx512_vbmi2", "avx512_bitalg"),
    *("avx512_vpopcntdq", "avx512_bf16", "avx512_fp16"),
)
FLAGS = {name.replace("_", ""): name for name in UNDERSCORED} | {"sse3": "pni", "lzcnt": "abm"}
"""Linux's names of flags that OpenBench, which compares them without dots and underscores, writes
differently."""
PGNS = {"FALSE": "none", "COMPACT": "moves", "VERBOSE": "full"}
NONE, DISABLED = "None", "DISABLED"
FULL_THROUGHPUT = 1000
"""OpenBench's usual throughput, which is 100 % here."""
PAIRS_PER_STEP = 8
"""The pairs with which an OpenBench tune measures one perturbation, if nothing is said."""

MODE, SPRT, GAMES = "test_mode", "SPRT", "GAMES"
ONE_ENGINE = ("dev", "both")

_BOUNDS = re.compile(r"\[\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*\]")
_WIN = re.compile(r"movecount=(\d+) score=(\d+)")
_DRAW = re.compile(r"movenumber=(\d+) movecount=(\d+) score=(\d+)")
_WITHOUT_MARKS = str.maketrans("", "", "_.")
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
    """Convert an engine of OpenBench."""
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
        cpu_flags=tuple(map(_name_flag, engine.build.cpuflags)),
        systems=tuple(_list_systems(engine.build.systems, remarks)),
        speed=SpeedRecord(reference=engine.nps or None),
        nets=NetRecord(use="build_variable", name="EVALFILE"),
        team=team,
        private=private,
        presets=tuple(_list_presets(engine, remarks)),
    )
    remarks += [
        f"build: no worker reports {name}, so no machine could play it"
        for _, name in list_unreported(record)
    ]
    return ImportedEngine(record, tuple(dict.fromkeys(remarks)))


def _remark_on_private(engine: OpenBenchEngine, team: str) -> Iterator[str]:
    if not team:
        yield "private: an engine is private to a team; name it with --team"
    if not engine.build.compilers:
        yield "build: OpenBench has it built elsewhere; write a recipe, or submit programs"


def _name_flag(flag: str) -> str:
    return FLAGS.get(flag.lower().translate(_WITHOUT_MARKS), flag.lower())


def _list_tools(compilers: tuple[str, ...]) -> tuple[ToolRecord, ...]:
    """Return the tools that a machine needs; none of several alternative compilers is required."""
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
            if own is not common:
                settings.take({key: value for key, value in common.items() if key not in own})
            settings.take(own)
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

    def _merge(self, mapped: Settings) -> None:
        for name, value in mapped.items():
            known = self._fields.get(name)
            both = isinstance(known, dict) and isinstance(value, dict)
            self._fields[name] = {**known, **value} if both else value  # type: ignore[dict-item]  # both

    def texts(self) -> dict[str, str]:
        """Return the values in the form of `rookery submit --set`: text as it is, anything else as
        JSON."""
        return {
            name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
            for name, value in _settle(self._fields).items()
        }


def _settle(fields: Settings) -> Settings:
    """Return the fields of a submission, from those of all settings together."""
    given = dict(fields)
    # OpenBench plays either a number of games or until its bounds; what was set last decides.
    given.pop({GAMES: "sprt", SPRT: "num_games"}.get(str(given.pop(MODE, "")), ""), None)
    new, base = given.pop("new_threads", None), given.pop("base_threads", None)
    sides = {"threads": new} if new == base else {"new_threads": new, "base_threads": base}
    if given.get("new_tc") == given.get("tc"):
        given.pop("new_tc", None)
    if any(given.get(rule, ...) is None for rule in ("resign", "draw")):
        # The rule that is switched off must not be replaced by the official one.
        given["adjudication"] = False
    steps, pairs = given.pop("steps", None), given.pop("pairs", PAIRS_PER_STEP)
    if isinstance(steps, int) and isinstance(pairs, int):
        given["num_games"] = 2 * steps * pairs
    return {name: value for name, value in (given | sides).items() if value is not None}


def _options(*sides: str) -> Callable[[str], Settings]:
    """Separate UCI options from the threads, which are a separate field."""

    def read(text: str) -> Settings:
        words = text.split()
        threads = [word.partition("=")[2] for word in words if word.startswith("Threads=")]
        rest = " ".join(word for word in words if not word.startswith("Threads="))
        fields: Settings = {f"{side}_options": rest for side in sides}
        number = int(threads[0]) if threads and threads[0].isdigit() else None
        return fields | {f"{side}_threads": number for side in sides}

    return read


def _same(*names: str) -> Callable[[str], Settings]:
    return lambda text: dict.fromkeys(names, text)


def _time_control(*names: str) -> Callable[[str], Settings | None]:
    def read(text: str) -> Settings | None:
        try:
            parse(text)
        except BadTimeControl:
            return None
        return dict.fromkeys(names, text)

    return read


def _book(text: str) -> Settings | None:
    return None if text == NONE else {"book": text}


def _number(name: str) -> Callable[[str], Settings | None]:
    return lambda text: {name: int(text)} if text.lstrip("-").isdigit() else None


def _throughput(text: str) -> Settings | None:
    if not text.isdigit():
        return None
    return {"throughput": max(1, round(100 * int(text) / FULL_THROUGHPUT))}


def _games(text: str) -> Settings | None:
    return {"num_games": int(text), MODE: GAMES} if text.isdigit() else None


def _bounds(first: str, second: str) -> Callable[[str], Settings | None]:
    def read(text: str) -> Settings | None:
        found = _BOUNDS.fullmatch(text.strip())
        if found is None:
            return None
        return {"sprt": {first: float(found[1]), second: float(found[2])}, MODE: SPRT}

    return read


def _win(text: str) -> Settings | None:
    found = _WIN.match(text)
    if found is None:
        return {"resign": None} if text == NONE else None
    return {"resign": {"score": int(found[2]), "moves": int(found[1])}}


def _draw(text: str) -> Settings | None:
    found = _DRAW.match(text)
    if found is None:
        return {"draw": None} if text == NONE else None
    numbers = map(int, found.groups())
    return {"draw": dict(zip(("from_move", "moves", "score"), numbers, strict=True))}


def _men(text: str) -> Settings | None:
    found = _MEN.fullmatch(text)
    return {"syzygy_men": int(found[1])} if found else _off("syzygy_men")(text)


def _off(name: str) -> Callable[[str], Settings | None]:
    """Something that can only be switched off here."""
    return lambda text: {name: None} if text == DISABLED else None


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
    "book_name": _book,
    "upload_pgns": _pgns,
    "priority": _number("priority"),
    "throughput": _throughput,
    "syzygy_adj": _men,
    "syzygy_wdl": _off("syzygy_wdl"),
    "win_adj": _win,
    "draw_adj": _draw,
}
TEST: Mappers = {
    **_EITHER,
    "both_options": _options("new", "base"),
    "dev_options": _options("new"),
    "base_options": _options("base"),
    "both_time_control": _time_control("tc", "new_tc"),
    "dev_time_control": _time_control("new_tc"),
    "base_time_control": _time_control("tc"),
    "both_branch": _same("new_tag", "base_tag"),
    "dev_branch": _same("new_tag"),
    "base_branch": _same("base_tag"),
    "both_bench": _same("new_signature", "base_signature"),
    "dev_bench": _same("new_signature"),
    "base_bench": _same("base_signature"),
    "test_bounds": _bounds("elo0", "elo1"),
    # OpenBench writes the chance of missing a good patch first.
    "test_confidence": _bounds("beta", "alpha"),
    "test_max_games": _games,
}
_SETTINGS_OF_A_TUNE: Mappers = {
    "options": _options("new", "base"),
    "time_control": _time_control("tc"),
    "branch": _same("new_tag", "base_tag"),
    "bench": _same("new_signature", "base_signature"),
}
TUNE: Mappers = {
    **_EITHER,
    # A tune has one engine; what OpenBench's presets say of both means that one.
    **{f"{side}_{name}": read for name, read in _SETTINGS_OF_A_TUNE.items() for side in ONE_ENGINE},
    "spsa_alpha": _share("alpha"),
    "spsa_gamma": _share("gamma"),
    "spsa_A_ratio": _share("A"),
    "spsa_iterations": _number("steps"),
    "spsa_pairs_per": _number("pairs"),
}
