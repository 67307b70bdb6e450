"""Turns a record's recipe into the commands of a build, without running anything."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rookery.core.model.engine import (
    STOCKFISH,
    BenchRecord,
    EngineRecord,
    NetRecord,
    RecipeRecord,
    ToolRecord,
)
from rookery.worker.engines.cache import read_text
from rookery.worker.engines.toolchain import FoundTool

NATIVE = "-C target-cpu=native"
PROGRAM = "rookery-engine"
"""The name of the program during the build, if the recipe leaves it open."""


@dataclass(frozen=True, slots=True)
class BuildConditions:
    """What a build finds: the source tree, the compiler, and the nets in the scratch folder."""

    tree: Path
    compiler: FoundTool | None = None
    nets: tuple[tuple[str, Path], ...] = ()
    """The nets by build variable."""
    jobs: int = 1
    arch: str = "native"
    """The architecture, as Stockfish's Makefile names it."""
    has_cargo: bool = False
    """Whether the folder is a Rust package."""
    is_locked: bool = False
    """Whether the package has a lock file with versions."""
    is_vendored: bool = False
    """Whether the package's dependencies are in the tree, according to its settings."""


@dataclass(frozen=True, slots=True)
class BuildStep:
    """A command in a folder. Only fetching may use the network, through the gateway."""

    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    network: bool = False


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """The steps, and where to look for the program afterwards, in this order."""

    steps: tuple[BuildStep, ...]
    programs: tuple[Path, ...]
    search: tuple[Path, ...] = ()
    """Folders in which a single executable is taken as the program."""


def plan_build(record: EngineRecord, found: BuildConditions) -> BuildPlan:
    """Return the plan to build this source on this machine."""
    return _PLANS[record.recipe.kind](record.recipe, found)


def tools_of(record: EngineRecord) -> tuple[ToolRecord, ...]:
    """Return the tools that the build needs, apart from the compiler."""
    return tuple(map(ToolRecord, _TOOLS.get(record.recipe.kind, ()))) + record.tools


def compilers_of(recipe: RecipeRecord) -> tuple[str, ...]:
    """Return the compilers of which one is needed; empty if the recipe finds its own."""
    return recipe.compilers or _COMPILERS.get(recipe.kind, ())


def folder_of(recipe: RecipeRecord, tree: Path) -> Path:
    """Return the folder in which the build starts. It is never outside of the tree."""
    named = recipe.directory or ("src" if recipe.kind == "stockfish" else "")
    inner = PurePosixPath(named)
    if inner.is_absolute() or ".." in inner.parts:
        inner = PurePosixPath()
    return tree / inner


def _make(recipe: RecipeRecord, found: BuildConditions) -> BuildPlan:
    folder = folder_of(recipe, found.tree)
    words = ["make", f"-j{found.jobs}", *_words(recipe.target), f"EXE={PROGRAM}"]
    words += _compiler_variable(found.compiler)
    words += _settings({**{name: str(path) for name, path in found.nets}, **recipe.variables})
    # Makefiles of Rust engines call cargo, whose packages must be fetched before.
    fetching = _cargo_fetch(folder, found) if found.has_cargo else ()
    offline = {"CARGO_NET_OFFLINE": "true"} if found.has_cargo else {}
    output = (folder / recipe.output,) if recipe.output else ()
    programs = (*output, folder / PROGRAM, folder / f"{PROGRAM}.exe")
    return BuildPlan((*fetching, BuildStep(tuple(words), folder, offline)), programs, (folder,))


def _stockfish(recipe: RecipeRecord, found: BuildConditions) -> BuildPlan:
    folder = folder_of(recipe, found.tree)
    program = recipe.output or "stockfish"
    settings = {"ARCH": found.arch, "EXE": program, **recipe.variables}
    if found.compiler:
        settings.setdefault("COMP", "clang" if "clang" in found.compiler.name else "gcc")
        settings.setdefault("COMPCXX", found.compiler.path)
    target = recipe.target or "profile-build"
    words = ("make", f"-j{found.jobs}", target, *_settings(settings))
    return BuildPlan((BuildStep(words, folder),), (folder / program, folder / f"{program}.exe"))


def _cargo(recipe: RecipeRecord, found: BuildConditions) -> BuildPlan:
    folder = folder_of(recipe, found.tree)
    named = {name: str(path) for name, path in found.nets}
    environment = {"RUSTFLAGS": NATIVE, **named, **recipe.variables, "CARGO_NET_OFFLINE": "true"}
    words = ("cargo", "build", "--release", "--offline", f"-j{found.jobs}")
    target = ("--bin", recipe.target) if recipe.target else ()
    release = folder / "target" / "release"
    programs = tuple(release / name for name in (recipe.output, recipe.target) if name) + tuple(
        folder / name for name in (recipe.output,) if name
    )
    steps = (*_cargo_fetch(folder, found), BuildStep((*words, *target), folder, environment))
    return BuildPlan(steps, programs, (release, found.tree / "target" / "release"))


def _cargo_fetch(folder: Path, found: BuildConditions) -> tuple[BuildStep, ...]:
    """Return the step that fetches a package's dependencies. It runs in an empty folder, because
    cargo reads the settings of the folder it is started in.

    The settings of the source could make cargo start programs with network access, and rustup
    install a compiler.
    """
    if found.is_vendored:
        return ()
    locked = ("--locked",) if found.is_locked else ()
    manifest = ("--manifest-path", str(folder / "Cargo.toml"))
    empty = found.tree.with_name("home")
    return (BuildStep(("cargo", "fetch", *manifest, *locked), empty, network=True),)


def _cmake(recipe: RecipeRecord, found: BuildConditions) -> BuildPlan:
    folder = folder_of(recipe, found.tree)
    build = folder / "build-rookery"
    settings = {"CMAKE_BUILD_TYPE": "Release"}
    if found.compiler:
        language = "CXX" if "++" in found.compiler.name else "C"
        settings[f"CMAKE_{language}_COMPILER"] = found.compiler.path
    settings |= {name: str(path) for name, path in found.nets} | recipe.variables
    first = (
        "cmake",
        "-S",
        ".",
        "-B",
        str(build),
        *(f"-D{name}={value}" for name, value in settings.items()),
    )
    second = ("cmake", "--build", str(build), "--parallel", str(found.jobs))
    target = ("--target", recipe.target) if recipe.target else ()
    programs = tuple(
        place / name for name in (recipe.output, recipe.target) if name for place in (build, folder)
    )
    steps = (BuildStep(first, folder), BuildStep((*second, *target), folder))
    return BuildPlan(steps, programs, (build, build / "bin", build / "src"))


def _commands(recipe: RecipeRecord, found: BuildConditions) -> BuildPlan:
    folder = folder_of(recipe, found.tree)
    environment = {"EXE": PROGRAM, "JOBS": str(found.jobs)}
    environment |= dict(word.split("=", 1) for word in _compiler_variable(found.compiler))
    environment |= {name: str(path) for name, path in found.nets} | recipe.variables
    steps = tuple(BuildStep(("sh", "-c", line), folder, environment) for line in recipe.commands)
    output = (folder / recipe.output,) if recipe.output else ()
    return BuildPlan(steps, (*output, folder / PROGRAM))


def _compiler_variable(compiler: FoundTool | None) -> list[str]:
    if compiler is None or compiler.name.startswith("cargo"):
        return []
    return [f"{'CXX' if '++' in compiler.name else 'CC'}={compiler.path}"]


def _settings(variables: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in variables.items()]


def _words(text: str) -> list[str]:
    return text.split()


_PLANS: Mapping[str, Callable[[RecipeRecord, BuildConditions], BuildPlan]] = {
    "make": _make,
    "stockfish": _stockfish,
    "cargo": _cargo,
    "cmake": _cmake,
    "commands": _commands,
}
_TOOLS = {"make": ("make",), "stockfish": ("make",), "cargo": ("cargo",), "cmake": ("cmake",)}
_COMPILERS = {"stockfish": ("g++", "clang++")}


# Examines a source tree and proposes recipes, the most likely one first.

MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
USUAL_BENCH, NO_NETS = BenchRecord(), NetRecord()
STOCKFISH_NET = STOCKFISH.nets.pattern
_EXE = re.compile(r"^[ \t]*EXE[ \t]*[:?]?=|\$[({]EXE[)}]", re.MULTILINE)
_ARCH = re.compile(r"\$[({]ARCH[)}]|^[ \t]*ARCH[ \t]*[:?]?=", re.MULTILINE)
_COMPILER = re.compile(r"^[ \t]*(CXX|CC)[ \t]*[:?]?=[ \t]*(\S+)", re.MULTILINE)
_USES = re.compile(r"\$[({](CXX|CC)[)}]")
_OTHERS = {"g++": "clang++", "clang++": "g++", "gcc": "clang", "clang": "gcc"}


@dataclass(frozen=True, slots=True)
class FoundRecipe:
    """A recipe with its bench and nets, and the evidence for it."""

    recipe: RecipeRecord
    because: str
    bench: BenchRecord = USUAL_BENCH
    nets: NetRecord = NO_NETS
    net_names: tuple[str, ...] = ()


def discover_recipes(tree: Path) -> tuple[FoundRecipe, ...]:
    """Recipes for a source tree; empty if it has nothing known. It reads files, so call it in a
    thread."""
    return (*_by_make(tree), *_by_cargo(tree), *_by_cmake(tree))


def _by_make(tree: Path) -> Iterator[FoundRecipe]:
    for folder in _folders(tree):
        text = makefile(folder, tree)
        if "profile-build" in text and _ARCH.search(text):
            yield _discovery_stockfish(tree, folder)
        elif _EXE.search(text):
            yield _openbench(tree, folder, text)


def _folders(tree: Path) -> Iterator[Path]:
    """Yield the root and `src`, then the other folders in the root."""
    yield tree
    yield tree / "src"
    for folder in sorted(tree.iterdir()):
        if folder.is_dir() and not folder.is_symlink() and folder.name not in ("src", ".git"):
            yield folder


def makefile(folder: Path, tree: Path) -> str:
    """Return the text of a folder's Makefile; empty if there is none."""
    return next(filter(None, (read_text(folder / name, tree) for name in MAKEFILES)), "")


def _discovery_stockfish(tree: Path, folder: Path) -> FoundRecipe:
    names = _net_names(folder, tree)
    # A source whose headers name no net is older than nets.
    nets = NetRecord(use="embedded", pattern=STOCKFISH_NET) if names else NO_NETS
    recipe = RecipeRecord(kind="stockfish", directory=_inner(tree, folder))
    because = f"{_inner(tree, folder) or '.'}/Makefile has profile-build and ARCH"
    return FoundRecipe(recipe, because, STOCKFISH.bench, nets, names)


def net_names(record: EngineRecord, tree: Path) -> tuple[str, ...]:
    """Return the nets that a source laid out like Stockfish's asks for; empty for other sources."""
    usual = record.nets.pattern == STOCKFISH_NET
    return _net_names(folder_of(record.recipe, tree), tree) if usual else ()


def _net_names(folder: Path, tree: Path) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for path in sorted(folder.glob("*.h")):
        found |= dict.fromkeys(re.findall(STOCKFISH_NET, read_text(path, tree)))
    return tuple(found)


def _openbench(tree: Path, folder: Path, text: str) -> FoundRecipe:
    nets = NetRecord(use="build_variable", name="EVALFILE") if "EVALFILE" in text else NO_NETS
    recipe = RecipeRecord(
        kind="make", directory=_inner(tree, folder), compilers=_compilers(folder, text)
    )
    return FoundRecipe(recipe, f"{_inner(tree, folder) or '.'}/Makefile has EXE", nets=nets)


def _compilers(folder: Path, text: str) -> tuple[str, ...]:
    """Return the compiler that the Makefile uses, and the other one of the same family."""
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


def _by_cargo(tree: Path) -> Iterator[FoundRecipe]:
    if (tree / "Cargo.toml").is_file():
        yield FoundRecipe(RecipeRecord(kind="cargo"), "there is a Cargo.toml")


def _by_cmake(tree: Path) -> Iterator[FoundRecipe]:
    if (tree / "CMakeLists.txt").is_file():
        yield FoundRecipe(RecipeRecord(kind="cmake"), "there is a CMakeLists.txt")


def _inner(tree: Path, folder: Path) -> str:
    inner = folder.relative_to(tree).as_posix()
    return "" if inner == "." else inner
