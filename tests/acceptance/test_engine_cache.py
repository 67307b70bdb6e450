"""The cache of engines: bounded, shared, and whole."""

import asyncio
import os
import zipfile
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.worker.engines.cache import Cache, remove
from rookery.worker.engines.git import BadArchive, unpack_archive

DAY = 24 * 3600


def entry(cache: Cache, name: str, days: float) -> Path:
    """A program of a thousand bytes that was used so many days ago."""
    path = cache.place("programs", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 1000)
    used = path.stat().st_mtime - days * DAY
    os.utime(path, (used, used))
    return path


def test_what_was_unused_longest_goes_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, Threads(), most_bytes=2000)
    old, middle, new = (entry(cache, name, days) for name, days in (("a", 9), ("b", 5), ("c", 1)))
    assert cache.tidy() == (old,)
    assert middle.exists()
    assert new.exists()


def test_what_may_be_in_use_stays_however_large(tmp_path: Path) -> None:
    cache = Cache(tmp_path, Threads(), most_bytes=0)
    fresh = entry(cache, "a", 0.1)
    assert cache.tidy() == ()
    assert fresh.exists()


def test_what_a_killed_worker_left_behind_goes_after_a_while(tmp_path: Path) -> None:
    cache = Cache(tmp_path, Threads())
    left, used = tmp_path / "scratch" / "left", tmp_path / "scratch" / "used"
    left.mkdir(parents=True)
    used.mkdir()
    os.utime(left, (1, 1))
    assert cache.tidy() == (left,)
    assert used.exists()


def test_a_scratch_folder_is_gone_afterwards_whatever_was_done_to_it(tmp_path: Path) -> None:
    cache = Cache(tmp_path, Threads())

    def lock_up(scratch: Path) -> None:
        (scratch / "inner").mkdir()
        (scratch / "inner" / "file").touch()
        (scratch / "inner").chmod(0)

    async def use() -> Path:
        async with cache.scratch() as scratch:
            await cache.threads.io(lock_up, scratch)
            return scratch

    assert not asyncio.run(use()).exists()


def test_a_link_is_removed_and_not_what_it_points_to(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(kept)
    remove(tmp_path / "folder")
    assert kept.exists()


@pytest.mark.parametrize(
    "names", [("tree/fine", "tree/../../outside"), ("tree/fine", "{0}"), ("{0}",), ("{0}", "{0}2")]
)
def test_a_file_outside_its_folder_spoils_an_archive(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    archive, outside = tmp_path / "source.zip", tmp_path.parent / "outside"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in names:
            packed.writestr(name.format(outside), "")
    with pytest.raises(BadArchive, match="outside"):
        unpack_archive(archive, tmp_path / "into")
    assert not outside.exists()
    assert not (tmp_path / "into").exists()


def test_an_archive_loses_its_outer_folder_and_keeps_its_programs(tmp_path: Path) -> None:
    archive = tmp_path / "source.zip"
    script = zipfile.ZipInfo("engine-1/build.sh")
    script.external_attr = 0o100755 << 16
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(script, "#!/bin/sh\n")
        packed.writestr("engine-1/src/a.c", "")
    unpack_archive(archive, tmp_path / "into")
    assert os.access(tmp_path / "into" / "build.sh", os.X_OK)
    assert (tmp_path / "into" / "src" / "a.c").is_file()


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "source.zip").write_bytes(b"PK no more")
    with pytest.raises(BadArchive, match="damaged"):
        unpack_archive(tmp_path / "source.zip", tmp_path / "into")
