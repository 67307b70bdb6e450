"""The wheel that a server carries."""

import io
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from rookery.server.machines.wheel import (
    NO_WHEEL,
    PACKAGES,
    Wheel,
    find_packages,
    own_wheel,
    pack_wheel,
    worker_wheel,
)


def names(wheel: Wheel) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as made:
        return made.namelist()


def test_equal_files_make_equal_wheels() -> None:
    files = {"rookery/b.py": b"b", "rookery/a.py": b"a"}
    assert pack_wheel(files, "1") == pack_wheel(dict(reversed(files.items())), "1")


def test_another_file_makes_another_wheel() -> None:
    assert (
        pack_wheel({"rookery/a.py": b"a"}, "1").sha256
        != pack_wheel({"rookery/a.py": b"b"}, "1").sha256
    )


def test_a_wheel_lists_its_files_with_their_hashes() -> None:
    made = pack_wheel({"rookery/a.py": b"a"}, "1.2", ("msgspec>=0.19",))
    with zipfile.ZipFile(io.BytesIO(made.content)) as opened:
        record = opened.read("rookery-1.2.dist-info/RECORD").decode()
        metadata = opened.read("rookery-1.2.dist-info/METADATA").decode()
    assert "rookery/a.py,sha256=ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs,1\n" in record
    assert "Requires-Dist: msgspec>=0.19\n" in metadata
    assert made.name == "rookery-1.2-py3-none-any.whl"


def test_our_own_holds_whole_packages_and_the_workers_locked_requirements() -> None:
    found = names(own_wheel())
    assert "rookery/worker/commands/worker.py" in found
    assert "rookery/worker/renewal/probation.py" in found
    assert "rookery/worker/renewal/requirements.txt" in found
    assert "rookery/core/books/rookery-demo.epd" in found
    assert {name.split("/")[1] for name in found if name.startswith("rookery/")} == {*PACKAGES}


def test_a_server_without_a_workers_packages_hands_out_none() -> None:
    alone = {name: folder for name, folder in find_packages().items() if name != "worker"}
    assert worker_wheel(alone) == NO_WHEEL


@pytest.fixture
def packages(tmp_path: Path) -> Mapping[str, Path]:
    """Copies of ours, to be changed."""
    ignored = shutil.ignore_patterns("__pycache__")
    return {
        name: Path(shutil.copytree(folder, tmp_path / name, ignore=ignored))
        for name, folder in find_packages().items()
    }


def test_equal_packages_make_the_same_worker(packages: Mapping[str, Path]) -> None:
    assert worker_wheel(packages).sha256 == own_wheel().sha256


def test_a_changed_module_of_the_worker_is_a_new_one(packages: Mapping[str, Path]) -> None:
    found = [own_wheel().sha256]
    for name, module in (("worker", "session.py"), ("match", "game.py"), ("cli", "main.py")):
        with (packages[name] / module).open("a") as file:
            file.write("\n")
        found.append(worker_wheel(packages).sha256)
    assert len(set(found)) == 4
