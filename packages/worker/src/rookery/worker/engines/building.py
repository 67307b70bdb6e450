"""Runs a build in a scratch folder, and finds the program that it made."""

import asyncio
import hashlib
import os
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic

import msgspec

from rookery.core.boundary.offload import Threads
from rookery.core.errors import describe_exit
from rookery.core.model.engine import EngineRecord, RecipeRecord
from rookery.worker.engines import programs as sessions
from rookery.worker.engines.cache import (
    MOST_SCRATCH,
    Cache,
    Excess,
    describe_size,
    excess_of,
    is_plain_file,
    is_within,
    note_use,
    run_guarded,
)
from rookery.worker.engines.gateway import open_gateway
from rookery.worker.engines.orders import Blame, BuildFailed, NetFile, digest_of
from rookery.worker.engines.programs import (
    Output,
    Program,
    TooLong,
    run_program,
    tells_of_full_disk,
)
from rookery.worker.engines.recipes import BuildPlan, BuildStep
from rookery.worker.engines.sources import make_gateway, trusted_files
from rookery.worker.engines.toolchain import FoundTool, HostIdentity
from rookery.worker.sandbox.sandbox import BuiltEngine, Sandbox
from rookery.worker.sandbox.watch import measure_processes

SECONDS = 1800.0
MARK = "ROOKERY_BUILD"
TURNED_AWAY = 1
_ENDED = "rookery: ended, because "
_THIS_MACHINE = "this machine"
_NOT_PROGRAMS = (".sh", ".py", ".so", ".a", ".o", ".d", ".dylib", ".dll")


@dataclass(frozen=True, slots=True)
class BuildSite:
    """Where a build runs: its scratch folder, and what its commands can access."""

    scratch: Path
    environment: Mapping[str, str]
    threads: Threads
    sandbox: Sandbox
    readable: tuple[Path, ...] = ()
    seconds: float = SECONDS
    most_bytes: int = MOST_SCRATCH
    reach: Mapping[str, str] = field(default_factory=dict)
    """The owner's proxy settings, for steps that may use the network."""
    private: bool = False
    """Whether hosts in the owner's own network may be contacted."""
    repository: str = ""
    """Where the source comes from. What it needs may come from there, too."""

    @property
    def mark(self) -> str:
        """A variable in the environment that marks every process of this build."""
        return f"{MARK}={self.scratch}"

    @property
    def tree(self) -> Path:
        return self.scratch / "tree"


async def build(plan: BuildPlan, site: BuildSite, name: str, output: Output) -> Path:
    """Run a build and return its program. Raises BuildFailed with the whole log."""
    deadline = monotonic() + site.seconds
    for step in plan.steps:
        await _carry_out(step, site, name, output, deadline - monotonic())
    program = await site.threads.io(_found, plan, site.tree)
    if program is None:
        wanted = ", ".join(str(path).removeprefix(f"{site.tree}/") for path in plan.programs[:1])
        sentence = f"{name} was built, but there is no program {wanted}".rstrip()
        raise BuildFailed(f"{sentence}.", output.text, "run")
    return program


async def _carry_out(
    step: BuildStep, site: BuildSite, name: str, output: Output, seconds: float
) -> None:
    output.line(f"$ {shlex.join(step.command)}")
    if not await site.threads.io(step.folder.is_dir):
        sentence = f"{name} can't be built: its source has no folder {step.folder.name}."
        raise BuildFailed(sentence, output.text, "run")
    why = ""
    try:
        if step.network:
            code, why = await _with_network(step, site, output, seconds)
        else:
            code = await _watched(_wrapped(step, site, seconds), site, output)
    except TooLong:
        sentence = f"{name} could not be built within {site.seconds:.0f} s."
        raise BuildFailed(sentence, output.text, "run") from None
    except Excess as excess:
        sentence = f"{name} could not be built: it took {excess}."
        raise BuildFailed(sentence, output.text, "run") from None
    if code and why:
        raise BuildFailed(f"{name} could not be built: {why}.", output.text)
    if code:
        raise _failure(step, name, code, output.text)


async def _with_network(
    step: BuildStep, site: BuildSite, output: Output, seconds: float
) -> tuple[int, str]:
    """Run a step through the gateway. Returns its exit code, and what the gateway refused."""
    gateway = make_gateway(site.reach, site.threads, site.repository, private=site.private)
    trusted = await site.threads.io(trusted_files, site.reach)
    bundle = Path(site.reach.get("SSL_CERT_FILE", ""))
    own = {"CARGO_HTTP_CAINFO": str(bundle)} if bundle in trusted else {}
    async with open_gateway(gateway, confined=site.sandbox.available):
        inside = replace(
            site,
            environment={**site.environment, **gateway.variables, **own},
            readable=(*site.readable, *trusted),
        )
        program = _wrapped(step, inside, seconds, gateway.relay)
        working = asyncio.create_task(_watched(program, site, output))
        turned_away = asyncio.create_task(gateway.turned_away.wait())
        try:
            await asyncio.wait((working, turned_away), return_when=asyncio.FIRST_COMPLETED)
            code = working.result() if working.done() else TURNED_AWAY
        finally:
            for task in (working, turned_away):
                task.cancel()
            await asyncio.wait((working, turned_away))
    return code, gateway.trouble()


def _wrapped(
    step: BuildStep, site: BuildSite, seconds: float, relay: Path | None = None
) -> Program:
    command = site.sandbox.building(
        step.command,
        folder=step.folder,
        scratch=site.scratch,
        readable=site.readable,
        environment={**site.environment, **step.environment, MARK: str(site.scratch)},
        relay=relay,
        most_bytes=site.most_bytes,
    )
    return Program(command, seconds=max(seconds, 0.1))


async def _watched(program: Program, site: BuildSite, output: Output) -> int:
    """Run a command, and check from time to time what no limit of the kernel covers."""
    started: list[int] = []
    running = run_program(program, output, started.append)
    try:
        return await run_guarded(running, partial(_excess, site, started), site.threads)
    finally:
        if not site.sandbox.available:
            await site.threads.io(_end_all, started, site.mark)


def _excess(site: BuildSite, started: list[int]) -> str:
    if too_large := excess_of(site.scratch, site.most_bytes):
        return too_large
    if site.sandbox.available:
        return ""
    running = [pid for session in started for pid in sessions.session_members(session, site.mark)]
    most = site.sandbox.build_processes
    if len(running) > most:
        return f"more than {most} processes"
    deleted = sum(measure_processes(map(str, running)).deleted.values())
    return describe_size(site.most_bytes) if deleted > site.most_bytes else ""


def _end_all(started: list[int], mark: str) -> None:
    for session in started:
        sessions.end_session(session, mark)


def _failure(step: BuildStep, name: str, code: int, log: str) -> BuildFailed:
    why, whose = _reason(step, code, log)
    return BuildFailed(f"{name} could not be built: {why}.", log, whose)


def _reason(step: BuildStep, code: int, log: str) -> tuple[str, Blame]:
    if tells_of_full_disk(log):
        return "the disk is full", "machine"
    last = log.rstrip().rpartition("\n")[2]
    if last.startswith(_ENDED):
        why = last.removeprefix(_ENDED)[:200]
        return why, "machine" if why.startswith(_THIS_MACHINE) else "run"
    return f"{step.command[0]} {describe_exit(code)}", "run"


def _found(plan: BuildPlan, tree: Path) -> Path | None:
    """Return the program that the plan names, or the only one in the folders where builds put
    theirs."""
    for path in plan.programs:
        if is_plain_file(path, tree):
            return path
    for folder in plan.search:
        programs = tuple(_programs(folder, tree))
        if len(programs) == 1:
            return programs[0]
    return None


def _programs(folder: Path, tree: Path) -> Iterable[Path]:
    for path in sorted(folder.iterdir()) if folder.is_dir() and is_within(folder, tree) else ():
        if (
            is_plain_file(path, tree)
            and path.suffix not in _NOT_PROGRAMS
            and os.access(path, os.X_OK)
        ):
            yield path


# Programs that were built before, found by a key of everything that went into them.

FORM = 1
"""Incremented when the way of building changes, so that older programs are not used."""


class _Ingredients(msgspec.Struct, frozen=True):
    form: int
    tree: str
    recipe: RecipeRecord
    nets: tuple[tuple[str, str], ...]
    tools: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    machine: tuple[str, ...]


class _Label(msgspec.Struct, frozen=True):
    program: str
    digest: str


def key_of(
    record: EngineRecord,
    tree: str,
    nets: Sequence[NetFile],
    tools: Sequence[FoundTool],
    environment: Mapping[str, str],
    machine: HostIdentity,
) -> str:
    """Return a key of everything that determines a build's program."""
    # Which compilers lie in an account's own folder is in `tools`; accounts may share a cache.
    passed = {name: value for name, value in environment.items() if name != "RUSTUP_HOME"}
    # A program built on one machine may not run on another that shares the cache.
    own = () if record.recipe.portable else (machine.flags, machine.host)
    ingredients = _Ingredients(
        FORM,
        tree,
        record.recipe,
        tuple((net.name, net.digest) for net in nets),
        tuple((tool.path, tool.says) for tool in tools),
        tuple(sorted(passed.items())),
        (machine.system, machine.processor, *own),
    )
    return hashlib.sha256(msgspec.json.encode(ingredients, order="sorted")).hexdigest()


@dataclass(frozen=True, slots=True)
class Builds:
    """The built programs of one cache. It reads and writes files, so use it in threads."""

    cache: Cache

    def find(self, key: str) -> BuiltEngine | None:
        """Return a program whose content is still that of the build; None if there is none."""
        place = self.cache.place("builds", key)
        try:
            label = msgspec.json.decode((place / "label").read_bytes(), type=_Label)
            program = place / label.program
            if digest_of(program) != label.digest:
                return None
        except (OSError, msgspec.MsgspecError):
            return None
        note_use(place)
        return _built(program, label.digest)

    def keep(self, program: Path, scratch: Path, key: str) -> BuiltEngine:
        """Store a new program."""
        made = scratch / "made"
        made.mkdir()
        copy = made / program.name
        shutil.copyfile(program, copy)
        copy.chmod(0o755)
        label = _Label(program.name, digest_of(copy))
        (made / "label").write_bytes(msgspec.json.encode(label))
        made.chmod(0o755)
        place = self.cache.keep(made, "builds", key)
        return _built(place / program.name, label.digest)


def _built(program: Path, digest: str) -> BuiltEngine:
    return BuiltEngine((str(program),), digest, readable=(program,))
