"""Programs that were built before, by everything that went into them."""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rookery.protocol.engine_record import EngineRecord, RecipeRecord
from rookery.worker.engines.cache import Cache, note_use
from rookery.worker.engines.machine import Identity
from rookery.worker.engines.nets import Net, digest_of
from rookery.worker.engines.order import Built
from rookery.worker.engines.toolchain import Tool

FORM = 1
"""Counted up when the way of building changes, so that older programs are not taken."""


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
    nets: Sequence[Net],
    tools: Sequence[Tool],
    environment: Mapping[str, str],
    machine: Identity,
) -> str:
    """The name of all that decides what a build's program is."""
    # A program of one machine may be wrong on another that shares the cache.
    own = () if record.recipe.portable else (machine.flags, machine.host)
    ingredients = _Ingredients(
        FORM,
        tree,
        record.recipe,
        tuple((net.name, net.digest) for net in nets),
        tuple((tool.path, tool.says) for tool in tools),
        tuple(sorted(environment.items())),
        (machine.system, machine.processor, *own),
    )
    return hashlib.sha256(msgspec.json.encode(ingredients, order="sorted")).hexdigest()


@dataclass(frozen=True, slots=True)
class Builds:
    """The built programs of one cache. Reads and writes files, so it belongs into threads."""

    cache: Cache

    def find(self, key: str) -> Built | None:
        """A program whose bytes are those that were built."""
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

    def keep(self, program: Path, scratch: Path, key: str) -> Built:
        """Take a new program in."""
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


def _built(program: Path, digest: str) -> Built:
    return Built((str(program),), digest, readable=(program,))
