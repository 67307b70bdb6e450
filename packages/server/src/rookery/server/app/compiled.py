"""The likelihood ratio in C, where this machine has a compiler: in Python it is a quarter of what a
report costs.

    found in a folder, or compiled into it --equal to Python's on samples--> in use

`stats/likelihood.c` repeats the Python form operation by operation. Without a compiler, or with one
whose results differ in a single bit, the Python form stays in use, and nothing else changes.
"""

import asyncio
import ctypes
import hashlib
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.core.errors import Complaint
from rookery.core.stats import likelihood, numbers
from rookery.core.stats.likelihood import FiveRatio, use_compiled
from rookery.server.logs import Log

SOURCE = Path(likelihood.__file__).with_suffix(".c")
NAME = "likelihood.so"
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared")
COMPILE_SECONDS = 60.0
CONSTANTS: dict[str, int | float] = {
    "CONVERGED": numbers.CONVERGED,
    "EMPTY_BIN": numbers.EMPTY_BIN,
    "MAX_NEWTON_STEPS": numbers.MAX_NEWTON_STEPS,
    "MAX_REFINEMENTS": numbers.MAX_REFINEMENTS,
    "MAX_SIGMAS": numbers.MAX_SIGMAS,
    "ROUNDING": numbers.ROUNDING,
    "SIGMAS_PER_NELO": math.sqrt(2.0) / numbers.NELO_PER_SIGMA,
    "SMALLEST_SHARE": numbers.SMALLEST_SHARE,
    "STEP_THAT_SETTLES": numbers.STEP_THAT_SETTLES,
}
SAMPLES = [
    ((losses, 40 * scale, 83 * scale, 43 * scale, wins), elo0, elo0 + width)
    for scale in (1, 7, 1_000)
    for losses, wins in ((0, 1), (3, 0), (scale, 2 * scale))
    for elo0, width in ((0.0, 2.0), (0.5, 2.0), (-1.75, 2.0), (-30.0, 45.5))
]
"""Results and bounds on which both forms must give the same bits before C's is used."""


class NotCompiled(Complaint):
    """The likelihood ratio stays in Python."""


def find_folders(data: Path) -> tuple[Path, ...]:
    """The folders that may hold the compiled form: beside the package, else beside the data."""
    said = repr((SOURCE.read_bytes(), FLAGS, CONSTANTS, platform.machine(), platform.libc_ver()))
    key = hashlib.sha256(said.encode()).hexdigest()[:12]
    beside_package = Path(sys.prefix) / "share" / "rookery" / "compiled"
    return beside_package / key, data / "compiled" / key


def find_compiler() -> str | None:
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def load_compiled(folders: Sequence[Path]) -> tuple[FiveRatio, Path] | None:
    """The compiled form of the first folder that has it for this user; None if it was not compiled
    yet. Raises NotCompiled if it can't be trusted."""
    for folder in folders:
        if os.access(folder / NAME, os.R_OK):
            return _load(folder / NAME), folder / NAME
    return None


def make_compiled(folders: Sequence[Path]) -> tuple[FiveRatio, Path]:
    """The compiled form, made if necessary. It blocks. Raises NotCompiled."""
    if found := load_compiled(folders):
        return found
    compiler = find_compiler()
    if compiler is None:
        raise NotCompiled("there is no C compiler")
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _compile(compiler, folder)
        except OSError:
            continue
        return _load(folder / NAME), folder / NAME
    raise NotCompiled("no folder for it can be written to")


def _compile(compiler: str, folder: Path) -> None:
    """Compiles beside the place and moves it there, as another process may do the same."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="work-") as work:
        made = Path(work) / NAME
        words = [compiler, *FLAGS, *_definitions(), "-o", str(made), str(SOURCE), "-lm"]
        try:
            done = subprocess.run(words, capture_output=True, timeout=COMPILE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise NotCompiled(f"{compiler} did not end") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["it failed"]
            raise NotCompiled(f"{compiler}: {said[-1]}")
        made.chmod(0o755)
        made.replace(folder / NAME)


def _definitions() -> Iterator[str]:
    for name, value in CONSTANTS.items():
        yield f"-D{name}={value.hex() if isinstance(value, float) else value}"


def _load(path: Path) -> FiveRatio:
    status = path.stat()
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        raise NotCompiled(f"others may write to {path}")
    try:
        # Unlike CDLL, this keeps the interpreter's lock: the call takes less time than giving it
        # away.
        ratio = ctypes.PyDLL(str(path)).rookery_normalised_ratio
    except (OSError, AttributeError) as error:
        raise NotCompiled(str(error)) from None
    ratio.restype, ratio.argtypes = ctypes.c_double, [ctypes.c_double] * 7
    for bins, elo0, elo1 in SAMPLES:
        if ratio(*bins, elo0, elo1) != likelihood.normalised_ratio_in_python(bins, elo0, elo1):
            raise NotCompiled(f"{path} gives other results than Python")
    found: FiveRatio = ratio
    return found


@asynccontextmanager
async def compiled_likelihood(data: Path, threads: Threads, log: Log) -> AsyncIterator[None]:
    """Compiles and uses it while the start goes on; the Python form is used until then, and after
    the block."""

    async def prepare() -> None:
        try:
            ratio, path = await threads.io(lambda: make_compiled(find_folders(data)))
        except NotCompiled as error:
            log.info("likelihood_in_python", why=str(error))
        else:
            use_compiled(ratio)
            log.info("likelihood_in_c", path=str(path))

    task = asyncio.create_task(prepare(), name="compiled likelihood")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        use_compiled(None)
