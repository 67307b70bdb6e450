"""Engines that are on the machine already: a command of it, or the engine we bring along."""

import hashlib
import os
import shlex
import shutil
import sys
from pathlib import Path

import chess

import rookery
from rookery.boundary.offload import Threads
from rookery.model.engine import BUNDLED_COMMAND, FLEDGLING
from rookery.worker.engines.nets import digest_of
from rookery.worker.engines.order import BuildFailed, Order
from rookery.worker.engines.programs import NoIntroduction, introduce
from rookery.worker.sandbox.sandbox import Built, Sandbox

OURS = BUNDLED_COMMAND
OUR_COMMAND = (sys.executable, "-m", "rookery.match.fledgling")


def installed(order: Order) -> Built:
    """The command that the record names; reads the program, so that it belongs into a thread."""
    try:
        words = shlex.split(order.record.recipe.output)
    except ValueError:
        words = []
    if words[:1] == [OURS]:
        digest = hashlib.sha256(f"{OURS} {rookery.__version__}".encode()).hexdigest()
        return Built((*OUR_COMMAND, *words[1:]), digest, (), *_our_surroundings())
    program = shutil.which(words[0]) if words else None
    if program is None:
        wanted = order.record.recipe.output or "nothing"
        raise BuildFailed(f"{order.record.name} wants the command {wanted}, which is not here.")
    path = Path(program)
    return Built((program, *words[1:]), digest_of(path), readable=(path, path.resolve()))


def behind_links(*packages: Path) -> tuple[Path, ...]:
    """Where the modules of packages really lie: some installations put links in their place."""
    files = (file for package in packages for file in package.rglob("*.py"))
    return tuple(sorted({file.resolve().parent for file in files} - _own_folders(packages)))


def _own_folders(packages: tuple[Path, ...]) -> set[Path]:
    return {file.parent for package in packages for file in package.rglob("*.py")}


def _our_surroundings() -> tuple[tuple[Path, ...], tuple[tuple[str, str], ...]]:
    """The folders of this Python and of this package, which need not be installed in it."""
    root, libraries = Path(rookery.__file__).parent.parent, Path(chess.__file__).parent.parent
    prefixes = (Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).parent)
    # The package alone: what lies beside it in a checkout is nobody's business.
    shown = (*prefixes, libraries, root / "rookery")
    readable = (*shown, *behind_links(Path(chess.__file__).parent, root / "rookery" / "match"))
    found = os.pathsep.join(dict.fromkeys((str(root), str(libraries))))
    return readable, (("PYTHONPATH", found),)


# Whether the engine that comes along starts on this machine, told before games are awaited.


async def trouble(sandbox: Sandbox, threads: Threads) -> str:
    """Why it does not start; empty where it does."""
    built = await threads.io(installed, Order(FLEDGLING, "", ""))
    try:
        await introduce(sandbox.playing(built), threads, environment={})
    except NoIntroduction as failed:
        return told(failed)
    return ""


def told(failed: NoIntroduction) -> str:
    """With the last of its own words, such as which module is missing."""
    last = failed.said.rstrip().rpartition("\n")[2].removeprefix("! ")
    return f"the bundled engine does not start here: {last or failed}"
