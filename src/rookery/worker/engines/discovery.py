"""Looks at a source tree and says how it could be built, the likeliest way first."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rookery.protocol.engine_record import BenchRecord, EngineRecord, NetRecord, RecipeRecord
from rookery.worker.engines.confinement import text_of
from rookery.worker.engines.recipes import folder_of

MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
USUAL_BENCH, NO_NETS = BenchRecord(), NetRecord()
STOCKFISH_BENCH = BenchRecord(
    command="bench 16 1 13 default depth", pattern=r"Nodes searched\s*:\s*(\d+)"
)
STOCKFISH_NET = r"nn-[0-9a-f]{12}\.nnue"
_EXE = re.compile(r"^[ \t]*EXE[ \t]*[:?]?=|\$[({]EXE[)}]", re.MULTILINE)
_ARCH = re.compile(r"\$[({]ARCH[)}]|^[ \t]*ARCH[ \t]*[:?]?=", re.MULTILINE)
_COMPILER = re.compile(r"^[ \t]*(CXX|CC)[ \t]*[:?]?=[ \t]*(\S+)", re.MULTILINE)
_USES = re.compile(r"\$[({](CXX|CC)[)}]")
_OTHERS = {"g++": "clang++", "clang++": "g++", "gcc": "clang", "clang": "gcc"}


@dataclass(frozen=True, slots=True)
class Found:
    """A way to build it, how its bench and nets would be, and what was seen that speaks for it."""

    recipe: RecipeRecord
    because: str
    bench: BenchRecord = USUAL_BENCH
    nets: NetRecord = NO_NETS
    net_names: tuple[str, ...] = ()


def discover(tree: Path) -> tuple[Found, ...]:
    """Reads files, so that it belongs into a thread; () when nothing known is there."""
    return (*_by_make(tree), *_by_cargo(tree), *_by_cmake(tree))


def _by_make(tree: Path) -> Iterator[Found]:
    for folder in _folders(tree):
        text = makefile(folder, tree)
        if "profile-build" in text and _ARCH.search(text):
            yield _stockfish(tree, folder)
        elif _EXE.search(text):
            yield _openbench(tree, folder, text)


def _folders(tree: Path) -> Iterator[Path]:
    """The root and `src` first, then the other folders of the root."""
    yield tree
    yield tree / "src"
    for folder in sorted(tree.iterdir()):
        if folder.is_dir() and not folder.is_symlink() and folder.name not in ("src", ".git"):
            yield folder


def makefile(folder: Path, tree: Path) -> str:
    """The text of a folder's Makefile; nothing where there is none."""
    return next(filter(None, (text_of(folder / name, tree) for name in MAKEFILES)), "")


def _stockfish(tree: Path, folder: Path) -> Found:
    names = _net_names(folder, tree)
    # A source without a net in its headers is one from before there were any.
    nets = NetRecord(use="embedded", pattern=STOCKFISH_NET) if names else NO_NETS
    recipe = RecipeRecord(kind="stockfish", directory=_inner(tree, folder))
    because = f"{_inner(tree, folder) or '.'}/Makefile has profile-build and ARCH"
    return Found(recipe, because, STOCKFISH_BENCH, nets, names)


def net_names(record: EngineRecord, tree: Path) -> tuple[str, ...]:
    """The nets that a source in Stockfish's way asks for; () for one of another way."""
    usual = record.nets.pattern == STOCKFISH_NET
    return _net_names(folder_of(record.recipe, tree), tree) if usual else ()


def _net_names(folder: Path, tree: Path) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for path in sorted(folder.glob("*.h")):
        found |= dict.fromkeys(re.findall(STOCKFISH_NET, text_of(path, tree)))
    return tuple(found)


def _openbench(tree: Path, folder: Path, text: str) -> Found:
    nets = NetRecord(use="build_variable", name="EVALFILE") if "EVALFILE" in text else NO_NETS
    recipe = RecipeRecord(
        kind="make", directory=_inner(tree, folder), compilers=_compilers(folder, text)
    )
    return Found(recipe, f"{_inner(tree, folder) or '.'}/Makefile has EXE", nets=nets)


def _compilers(folder: Path, text: str) -> tuple[str, ...]:
    """What the Makefile itself takes, and the other one of the same family."""
    if "cargo" in text and (folder / "Cargo.toml").is_file():
        return ("cargo",)
    set_to = dict(_COMPILER.findall(text))
    used = set(_USES.findall(text))
    for variable, usual in (("CXX", "g++"), ("CC", "gcc")):
        if variable in set_to or variable in used:
            own = set_to.get(variable, usual)
            first = own if own in _OTHERS else usual
            return first, _OTHERS[first]
    return ()


def _by_cargo(tree: Path) -> Iterator[Found]:
    if (tree / "Cargo.toml").is_file():
        yield Found(RecipeRecord(kind="cargo"), "there is a Cargo.toml")


def _by_cmake(tree: Path) -> Iterator[Found]:
    if (tree / "CMakeLists.txt").is_file():
        yield Found(RecipeRecord(kind="cmake"), "there is a CMakeLists.txt")


def _inner(tree: Path, folder: Path) -> str:
    inner = folder.relative_to(tree).as_posix()
    return "" if inner == "." else inner
