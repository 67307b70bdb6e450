"""A source full of links: none of them leads the worker out of the tree."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from rookery.core.model.engine import EngineRecord, NetRecord, RecipeRecord
from rookery.worker.engines.cache import read_text
from rookery.worker.engines.orders import BuildFailed, EngineOrder
from rookery.worker.engines.workshop import Workshop
from rookery.worker.sandbox.sandbox import Sandbox
from tests.engines import repositories
from tests.engines.downloads import MemoryDownloads

DATA = b"what an attacker wants to write"
NET = f"nn-{hashlib.sha256(DATA).hexdigest()[:12]}.nnue"
EMBEDDED = EngineRecord(
    name="Sly",
    recipe=RecipeRecord(kind="commands", directory="src", commands=("true",), output="made"),
    nets=NetRecord(use="embedded"),
)


def failure(tmp_path: Path, record: EngineRecord, links: dict[str, Path]) -> BuildFailed:
    folder = tmp_path / "sly"
    folder.mkdir()
    for name, target in links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)
    source = repositories.repository(folder, {"README": "nothing to see"})
    workshop = Workshop(
        tmp_path / "cache",
        MemoryDownloads({NET: DATA}),
        sandbox=Sandbox(True),
        private_sources=True,
    )
    with pytest.raises(BuildFailed) as failed:
        asyncio.run(workshop.make(EngineOrder(record, source.commit, source.url, nets=(NET,))))
    return failed.value


def test_a_net_is_not_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    failure(tmp_path, EMBEDDED, {f"src/{NET}": victim})
    assert victim.read_text() == "mine"


def test_a_net_is_not_written_into_a_linked_folder(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    failed = failure(tmp_path, EMBEDDED, {"src": victim})
    assert failed.sentence == "The source has no folder src of its own."
    assert not list(victim.iterdir())


@pytest.mark.parametrize("output", ["link", "../../../../../../bin/true", "/bin/true"])
def test_a_program_outside_the_source_is_none(tmp_path: Path, output: str) -> None:
    recipe = RecipeRecord(kind="commands", commands=("true",), output=output)
    failed = failure(tmp_path, EngineRecord(name="Sly", recipe=recipe), {"link": Path("/bin/true")})
    assert "there is no program" in failed.sentence


def test_a_file_that_is_elsewhere_has_no_text(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "Makefile").symlink_to("/etc/hostname")
    (tree / "endless").symlink_to("/dev/zero")
    (tree / "own").write_text("EXE = it")
    (tree / "near").symlink_to("own")
    texts = [read_text(tree / name, tree) for name in ("Makefile", "endless", "absent", "near")]
    assert texts == ["", "", "", "EXE = it"]
