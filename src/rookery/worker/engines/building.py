"""Carries out a build's plan in a scratch folder, and finds the program it made."""

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from rookery.boundary.offload import Threads
from rookery.worker.engines.order import BuildFailed
from rookery.worker.engines.output import Output
from rookery.worker.engines.programs import Program, TooLong, ending, run
from rookery.worker.engines.recipes import Plan, Step

SECONDS = 1800.0
_DISK_FULL = ("No space left on device", "Disk quota exceeded")
_NOT_PROGRAMS = (".sh", ".py", ".so", ".a", ".o", ".d", ".dylib", ".dll")


@dataclass(frozen=True, slots=True)
class Site:
    """Where a build takes place: a scratch folder, and what its commands see."""

    scratch: Path
    environment: Mapping[str, str]
    threads: Threads
    seconds: float = SECONDS

    @property
    def tree(self) -> Path:
        return self.scratch / "tree"


async def build(plan: Plan, site: Site, name: str, output: Output) -> Path:
    """The program; raises BuildFailed with the whole log."""
    deadline = monotonic() + site.seconds
    for step in plan.steps:
        await _carry_out(step, site, name, output, deadline - monotonic())
    program = await site.threads.io(_found, plan)
    if program is None:
        wanted = ", ".join(str(path.relative_to(site.tree)) for path in plan.programs[:1])
        raise BuildFailed(
            f"{name} was built, but there is no program {wanted}".rstrip() + ".", output.text, "run"
        )
    return program


async def _carry_out(step: Step, site: Site, name: str, output: Output, seconds: float) -> None:
    line = shlex.join(step.command)
    output.line(f"$ {line}")
    environment = {**site.environment, **step.environment}
    program = Program(step.command, step.folder, environment, max(seconds, 0.1))
    try:
        code = await run(program, output)
    except FileNotFoundError:
        raise await site.threads.io(_missing, step, name) from None
    except TooLong:
        sentence = f"{name} could not be built within {site.seconds:.0f} s."
        raise BuildFailed(sentence, output.text, "run") from None
    if code:
        raise _failure(step, name, code, output.text)


def _missing(step: Step, name: str) -> BuildFailed:
    if step.folder.is_dir():
        return BuildFailed(f"{name} can't be built: {step.command[0]} is not on this machine.")
    sentence = f"{name} can't be built: its source has no folder {step.folder.name}."
    return BuildFailed(sentence, whose="run")


def _failure(step: Step, name: str, code: int, log: str) -> BuildFailed:
    if any(words in log for words in _DISK_FULL):
        return BuildFailed(f"{name} could not be built: the disk is full.", log, "machine")
    program = step.command[0]
    return BuildFailed(
        f"{name} could not be built: {program} ended with {ending(code)}.", log, "run"
    )


def _found(plan: Plan) -> Path | None:
    """The named program, or the only one in the folders where builds leave theirs."""
    for path in plan.programs:
        if path.is_file() and not path.is_symlink():
            return path
    for folder in plan.search:
        programs = tuple(_programs(folder))
        if len(programs) == 1:
            return programs[0]
    return None


def _programs(folder: Path) -> Iterable[Path]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        plain = path.is_file() and not path.is_symlink()
        if plain and path.suffix not in _NOT_PROGRAMS and os.access(path, os.X_OK):
            yield path
