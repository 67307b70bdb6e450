"""Blobs in a folder: whole and safe, or not there at all."""

import os
import stat
from pathlib import Path

import pytest

from rookery.clock import SystemClock
from rookery.db.keys import load_key
from rookery.files.blobs import (
    UNFINISHED,
    DiskNearlyFull,
    FolderBlobs,
    UnknownBlob,
    read_blob,
    write_blob,
)


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "blobs", SystemClock())


def age(path: Path) -> None:
    os.utime(path, (1, 1))


def test_what_was_written_is_read(blobs: FolderBlobs) -> None:
    key = write_blob(blobs, b"games")
    assert read_blob(blobs, key) == b"games"
    assert blobs.has(key)
    with blobs.open(key, 2) as rest:
        assert rest.read() == b"mes"


def test_pieces_become_one_blob_once_it_is_kept(blobs: FolderBlobs) -> None:
    draft = blobs.draft()
    draft.write(b"first ")
    draft.write(b"second")
    key = draft.keep()
    draft.drop()
    assert read_blob(blobs, key) == b"first second"


def test_a_dropped_draft_leaves_nothing(blobs: FolderBlobs, tmp_path: Path) -> None:
    draft = blobs.draft()
    draft.write(b"half")
    draft.drop()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_disk_that_is_nearly_full_is_left_to_the_database(tmp_path: Path) -> None:
    full = FolderBlobs(tmp_path, SystemClock(), reserve=2**60)
    with pytest.raises(DiskNearlyFull):
        write_blob(full, b"games")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_equal_bytes_are_kept_twice(blobs: FolderBlobs) -> None:
    first, second = write_blob(blobs, b"same"), write_blob(blobs, b"same")
    blobs.remove(first)
    assert read_blob(blobs, second) == b"same"


@pytest.mark.parametrize("key", ["", "x", "0" * 32, "../../../../etc/passwd", "a/" * 16])
def test_a_key_that_was_never_given_out_is_unknown(blobs: FolderBlobs, key: str) -> None:
    with pytest.raises(UnknownBlob):
        read_blob(blobs, key)


def test_removing_twice_is_no_fault(blobs: FolderBlobs) -> None:
    key = write_blob(blobs, b"x")
    blobs.remove(key)
    blobs.remove(key)
    assert not blobs.has(key)
    with pytest.raises(UnknownBlob):
        blobs.open(key)


def test_only_old_blobs_are_listed_for_the_sweep(blobs: FolderBlobs) -> None:
    old, _ = write_blob(blobs, b"old"), write_blob(blobs, b"new")
    age(blobs.path(old))
    assert list(blobs.list_older_than(3600)) == [old]


def test_what_was_never_finished_goes_with_the_sweep(blobs: FolderBlobs) -> None:
    left = blobs.path(write_blob(blobs, b"x")).with_suffix(UNFINISHED)
    left.write_bytes(b"half")
    age(left)
    assert list(blobs.list_older_than(3600)) == []
    assert not left.exists()


def test_a_key_file_is_made_once_and_is_nobody_elses_to_read(tmp_path: Path) -> None:
    path = tmp_path / "data" / "seal.key"
    key = load_key(path)
    assert len(key) == 32
    assert load_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
