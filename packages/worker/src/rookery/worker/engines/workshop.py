"""Makes the engines of a worker: finds installed ones, and builds others from orders."""

import contextlib
import errno
import hashlib
import os
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic

import chess
import msgspec

import rookery.core
import rookery.match
from rookery.core.boundary.offload import Threads
from rookery.core.model.engine import BUNDLED_COMMAND, FLEDGLING, EngineRecord
from rookery.match.introduction import NoIntroduction, introduce
from rookery.match.job import OUR_COMMAND
from rookery.worker.engines.building import SECONDS, Builds, BuildSite, build, key_of
from rookery.worker.engines.cache import MOST_BYTES, Cache, most_scratch
from rookery.worker.engines.git import Fetched, proxy_environment
from rookery.worker.engines.orders import (
    BuildFailed,
    EngineDownloads,
    EngineOrder,
    NetCache,
    NetFile,
    NoDownloads,
    ProgramCache,
    assign_nets,
    default_nets,
    digest_of,
)
from rookery.worker.engines.programs import Output
from rookery.worker.engines.recipes import compilers_of, net_names, plan_build, tools_of
from rookery.worker.engines.sources import SourceTrees, prepare_build
from rookery.worker.engines.toolchain import (
    FoundTool,
    Toolchain,
    host_identity,
    rust_home,
    tool_folders,
)
from rookery.worker.sandbox.sandbox import BuiltEngine, Sandbox, detect_sandbox

OURS = BUNDLED_COMMAND


def find_installed(order: EngineOrder) -> BuiltEngine:
    """Return the installed command that the record names. It reads the program, so call it in a
    thread."""
    try:
        words = shlex.split(order.record.recipe.output)
    except ValueError:
        words = []
    if words[:1] == [OURS]:
        digest = hashlib.sha256(f"{OURS} {rookery.core.__version__}".encode()).hexdigest()
        return BuiltEngine((*OUR_COMMAND, *words[1:]), digest, (), *_our_surroundings())
    program = shutil.which(words[0]) if words else None
    if program is None:
        wanted = order.record.recipe.output or "nothing"
        raise BuildFailed(
            f"{order.record.name} needs the command {wanted}, which is not installed."
        )
    path = Path(program)
    return BuiltEngine((program, *words[1:]), digest_of(path), readable=(path, path.resolve()))


def linked_folders(*packages: Path) -> tuple[Path, ...]:
    """Return the folders with the modules of packages, with links resolved, since some
    installations use links."""
    files = (file for package in packages for file in package.rglob("*.py"))
    return tuple(sorted({file.resolve().parent for file in files} - _own_folders(packages)))


def _own_folders(packages: tuple[Path, ...]) -> set[Path]:
    return {file.parent for package in packages for file in package.rglob("*.py")}


def _our_surroundings() -> tuple[tuple[Path, ...], tuple[tuple[str, str], ...]]:
    """Return the folders and variables that the bundled engine needs: of this Python, and of this
    package, which need not be installed in it."""
    engine = tuple(Path(each.__path__[0]) for each in (rookery.match, rookery.core))
    libraries = Path(chess.__file__).parent.parent
    prefixes = (Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).parent)
    # Only the packages: other files of a checkout must not be visible.
    shown = (*prefixes, libraries, *engine)
    readable = (*shown, *linked_folders(Path(chess.__file__).parent, *engine))
    roots = (str(each.parents[1]) for each in engine)
    found = os.pathsep.join(dict.fromkeys((*roots, str(libraries))))
    return readable, (("PYTHONPATH", found),)


async def find_bundled_trouble(sandbox: Sandbox, threads: Threads) -> str:
    """Why the bundled engine does not start; empty if it does."""
    built = await threads.io(find_installed, EngineOrder(FLEDGLING, "", ""))
    try:
        await introduce(sandbox.playing(built), threads, environment={})
    except NoIntroduction as failed:
        return describe_trouble(failed)
    return ""


def describe_trouble(failed: NoIntroduction) -> str:
    """Return a sentence with the engine's last line, such as the name of a missing module."""
    last = failed.said.rstrip().rpartition("\n")[2].removeprefix("! ")
    return f"the bundled engine does not start here: {last or failed}"


# Makes engines from orders: finds, fetches, builds and keeps them.

TIDY_SECONDS = 3600.0


class Workshop:
    """The workshop of one worker."""

    def __init__(  # noqa: PLR0913 - settings of one workshop, made in one place
        self,
        folder: Path,
        downloads: EngineDownloads | None = None,
        *,
        sandbox: Sandbox | None = None,
        without_sandbox: bool = False,
        private_sources: bool = False,
        most_bytes: int = MOST_BYTES,
        seconds: float = SECONDS,
    ) -> None:
        self._threads = Threads()
        self._cache = Cache(folder.absolute(), self._threads, most_bytes)
        self._seconds = seconds
        self._next_tidying = 0.0
        self._sandbox = sandbox
        self._without_sandbox = without_sandbox
        self._private = private_sources
        self._environment = build_environment()
        offered = downloads or NoDownloads()
        self._toolchain = Toolchain(self._environment, self._threads)
        self._sources = SourceTrees(
            self._cache, offered, self._environment | proxy_environment(), private_sources
        )
        self._nets = NetCache(self._cache, offered)
        self._uploads = ProgramCache(self._cache, offered)
        self._builds = Builds(self._cache)

    async def sandbox(self) -> Sandbox:
        """Return the sandbox for builds and engines. It is detected once."""
        if self._sandbox is None:
            self._sandbox = await detect_sandbox(self._threads, permitted=self._without_sandbox)
        return self._sandbox

    async def make(self, order: EngineOrder) -> BuiltEngine:
        """Return the program for an order. Raise BuildFailed."""
        try:
            built = await self._make(order)
        except OSError as error:
            raise _trouble(self._cache.folder, error) from None
        if monotonic() >= self._next_tidying:
            self._next_tidying = monotonic() + TIDY_SECONDS
            # If the cache can't be written, it does not grow either.
            with contextlib.suppress(OSError):
                await self._threads.io(self._cache.tidy)
        return built

    async def source(self, repository: str, commit: str) -> Path:
        """Return the source tree of a commit, to look at. Raise BuildFailed."""
        try:
            return (await self._sources.get(repository, commit, await self.sandbox())).folder
        except OSError as error:
            raise _trouble(self._cache.folder, error) from None

    async def _make(self, order: EngineOrder) -> BuiltEngine:
        await self._check(order)
        nets = await self._nets.get(order.nets or default_nets(order.record))
        if order.binary:
            built = await self._started(await self._uploads.get(order.binary), order.record)
        elif order.record.recipe.kind == "installed":
            built = await self._started(await self._threads.io(find_installed, order), order.record)
        else:
            built = await self._from_source(order, nets)
        return _with_options(built, order.record, nets)

    async def _check(self, order: EngineOrder) -> None:
        """Refuse what an order may not ask of this machine, since orders come from strangers."""
        record = order.record
        if b"\\u0000" in msgspec.json.encode(record):
            raise BuildFailed(f"The record of {record.name} has a NUL character.", blame="run")
        sandbox = await self.sandbox()
        ours = record.is_bundled and not order.binary
        if not ours and not sandbox.takes_strangers:
            raise BuildFailed(sandbox.refusal)
        if record.sandboxed and not sandbox.available:
            raise BuildFailed(f"{record.name} is played in a sandbox only. {sandbox.why}")

    async def _from_source(self, order: EngineOrder, nets: tuple[NetFile, ...]) -> BuiltEngine:
        record = order.record
        tools = await self._tools(record)
        source = await self._sources.get(order.address, order.commit, await self.sandbox())
        if record.nets.use == "embedded" and not nets:
            # Sources like Stockfish's name their nets, which must be there before the build.
            nets = await self._nets.get(await self._threads.io(net_names, record, source.folder))
        machine = await self._threads.io(host_identity)
        key = key_of(record, source.tree, nets, tools, self._environment, machine)
        if built := await self._known(key, record):
            return built
        async with self._cache.locked("builds", key):
            built = await self._known(key, record)
            return built or await self._build(order, source, nets, tools, key)

    async def _tools(self, record: EngineRecord) -> tuple[FoundTool, ...]:
        """Return the tools of a build, with the compiler first if there is one."""
        names = compilers_of(record.recipe)
        compiler = (await self._toolchain.first(names),) if names else ()
        needed = [await self._toolchain.need(wanted) for wanted in tools_of(record)]
        usual = [] if names else [await self._toolchain.find(name) for name in ("cc", "c++")]
        return (*compiler, *needed, *(tool for tool in usual if tool))

    async def _known(self, key: str, record: EngineRecord) -> BuiltEngine | None:
        """Return a program in the cache, if it still starts on this machine."""
        built = await self._threads.io(self._builds.find, key)
        try:
            return await self._started(built, record) if built else None
        except BuildFailed:
            return None

    async def _build(
        self,
        order: EngineOrder,
        source: Fetched,
        nets: tuple[NetFile, ...],
        tools: tuple[FoundTool, ...],
        key: str,
    ) -> BuiltEngine:
        record, output = order.record, Output()
        async with self._cache.scratch() as scratch:
            site = await self._site(scratch, tools, order.address)
            compiler = tools[0] if compilers_of(record.recipe) else None
            owner = site.sandbox.owner
            found = await self._threads.io(
                prepare_build, record, source, nets, scratch, compiler, owner
            )
            program = await build(plan_build(record, found), site, record.name, output)
            built = await self._threads.io(self._builds.keep, program, scratch, key)
        return await self._started(built, record, output.text)

    async def _site(
        self, scratch: Path, tools: tuple[FoundTool, ...], repository: str
    ) -> BuildSite:
        own = {"CARGO_HOME": str(scratch / "cargo"), "HOME": str(scratch / "home")}
        return BuildSite(
            scratch,
            {**self._environment, **own},
            self._threads,
            await self.sandbox(),
            await self._threads.io(tool_folders, tools),
            self._seconds,
            await self._threads.io(most_scratch, scratch),
            proxy_environment(),
            self._private,
            repository,
        )

    async def _started(
        self, built: BuiltEngine, record: EngineRecord, log: str = ""
    ) -> BuiltEngine:
        try:
            await introduce((await self.sandbox()).playing(built), self._threads, environment={})
        except NoIntroduction as failed:
            whole = f"{log}\n{failed.said}".strip()
            if built.command[: len(OUR_COMMAND)] == OUR_COMMAND:
                why = describe_trouble(failed)
                raise BuildFailed(f"{why[0].upper()}{why[1:]}.", whole) from None
            sentence = f"The program of {record.name} is not a UCI engine: {failed}."
            raise BuildFailed(sentence, whole, "run") from None
        return built


def _with_options(
    built: BuiltEngine, record: EngineRecord, nets: tuple[NetFile, ...]
) -> BuiltEngine:
    if record.nets.use != "uci_option":
        return built
    named = assign_nets(record, nets)
    return replace(
        built,
        options=tuple((name, str(net.path)) for name, net in named),
        readable=(*built.readable, *(net.path for _, net in named)),
    )


def _trouble(folder: Path, error: OSError) -> BuildFailed:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return BuildFailed(f"The disk of the cache {folder} is full.")
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return BuildFailed(f"The cache {folder} can't be written to.")
        case None:
            # Not an error of the disk: the download has its own message.
            return BuildFailed(f"A file could not be fetched: {error}.")
        case _:
            return BuildFailed(f"The cache {folder} can't be used: {error}.")


def build_environment() -> dict[str, str]:
    """Return the worker's own variables that are passed on to builds."""
    rust = rust_home()
    path = {"PATH": os.pathsep.join(os.get_exec_path()), "LANG": "C.UTF-8"}
    return path | ({"RUSTUP_HOME": str(rust)} if rust else {})
