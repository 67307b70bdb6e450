"""Lays a source and its nets out for a build."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from rookery.protocol.engine_record import EngineRecord
from rookery.worker.engines.confinement import LedOut, put, text_of
from rookery.worker.engines.discovery import makefile
from rookery.worker.engines.git import Fetched
from rookery.worker.engines.machine import best_architecture
from rookery.worker.engines.nets import Net, by_name
from rookery.worker.engines.order import BuildFailed
from rookery.worker.engines.recipes import Circumstances, folder_of
from rookery.worker.engines.sandbox.enclosure import Account
from rookery.worker.engines.toolchain import Tool
from rookery.worker.match.cores import usable_processors

_FINDS_OUT = re.compile(r"ARCH\)\s*,\s*native\b")


def prepare(
    record: EngineRecord,
    source: Fetched,
    nets: Sequence[Net],
    scratch: Path,
    compiler: Tool | None,
    owner: Account | None,
) -> Circumstances:
    """Copies, so that it belongs into a thread; nobody builds in the kept source itself."""
    tree = scratch / "tree"
    shutil.copytree(source.folder, tree, symlinks=True)
    folder = folder_of(record.recipe, tree)
    named: tuple[tuple[str, Path], ...] = ()
    if record.nets.use == "embedded":
        _embed(nets, folder, tree)
    elif record.nets.use == "build_variable":
        named = tuple((name, _copied(net, scratch)) for name, net in by_name(record, nets))
    for name in ("cargo", "home"):
        (scratch / name).mkdir()
    if owner:
        give(scratch, owner)
    return Circumstances(
        tree,
        compiler,
        named,
        usable_processors(),
        _architecture(folder, tree) if record.recipe.kind == "stockfish" else "native",
        has_cargo=(folder / "Cargo.toml").is_file(),
        is_vendored=any("replace-with" in text_of(path, tree) for path in _cargo_settings(folder)),
        is_locked=(folder / "Cargo.lock").is_file(),
    )


def _cargo_settings(folder: Path) -> tuple[Path, ...]:
    return (folder / ".cargo" / "config.toml", folder / ".cargo" / "config")


def _architecture(folder: Path, tree: Path) -> str:
    """Makefiles of some years ago do not find out themselves what the machine is."""
    text = makefile(folder, tree)
    return "native" if _FINDS_OUT.search(text) else best_architecture(text)


def _embed(nets: Sequence[Net], folder: Path, tree: Path) -> None:
    """Where Makefiles look before they would download."""
    try:
        for net in nets:
            put(net.path, folder, net.name, tree)
    except LedOut:
        sentence = f"The source has no folder {folder.name} of its own."
        raise BuildFailed(sentence, whose="run") from None


def _copied(net: Net, scratch: Path) -> Path:
    folder = scratch / "nets"
    folder.mkdir(exist_ok=True)
    return put(net.path, folder, net.name, scratch)


def give(folder: Path, owner: Account) -> None:
    """To the account that builds inside; links themselves, never what they point to."""
    for place, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(Path(place, name), owner.uid, owner.gid, follow_symlinks=False)
