"""Blobs in a folder and in a bucket: whole and safe, or not there at all."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.server.disk import DiskNearlyFull, StorageAway
from rookery.server.files.blobs import (
    UNFINISHED,
    Blobs,
    FolderBlobs,
    UnknownBlob,
    make_key,
    read_blob,
    write_blob,
)
from rookery.server.files.bucket import IN_MEMORY, PART, RANGE, Bucket, BucketAddress, BucketBlobs
from rookery.server.files.places import MovingBlobs, open_place
from rookery.server.files.storage_health import StorageHealth
from rookery.server.settings import Settings
from tests.bucket_server import CREDENTIALS, BucketServer, answer_ranges
from tests.fakes import HandClock, RecordedLog
from tests.hand_made_bucket import HandMadeBucket, serve_hand_made_bucket


def open_bucket(
    address: BucketAddress, spool: Path, *, log: RecordedLog | None = None, reserve: int = 0
) -> BucketBlobs:
    bucket, clock = Bucket(address, seconds=2), SystemClock()
    health = StorageHealth(str(address), Threads(), clock, log, probe=bucket.probe)
    return BucketBlobs(bucket, "games", health, clock, spool=spool, reserve=reserve)


@pytest.fixture
def folder(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "blobs", SystemClock())


@pytest.fixture
def bucket(bucket_server: BucketServer, tmp_path: Path) -> BucketBlobs:
    return open_bucket(bucket_server.address(tmp_path.name), tmp_path)


@pytest.fixture
def ranged_bucket(bucket_server: BucketServer, tmp_path: Path) -> Iterator[BucketBlobs]:
    with answer_ranges(bucket_server) as address:
        yield open_bucket(address, tmp_path)


@pytest.fixture(params=["folder", "bucket"])
def blobs(request: pytest.FixtureRequest) -> Blobs:
    found: Blobs = request.getfixturevalue(request.param)
    return found


def age(path: Path) -> None:
    os.utime(path, (1, 1))


def test_what_was_written_is_read(blobs: Blobs) -> None:
    key = write_blob(blobs, b"games")
    assert read_blob(blobs, key) == b"games"
    assert blobs.has(key)
    with blobs.open(key, 2) as rest:
        assert rest.read() == b"mes"


@pytest.mark.parametrize("place", ["folder", "bucket", "ranged_bucket"])
@pytest.mark.parametrize("size", [0, 1, IN_MEMORY + 1, RANGE, 2 * RANGE, PART + 5])
def test_a_blob_of_any_size_is_read_as_it_was_written(
    request: pytest.FixtureRequest, place: str, size: int
) -> None:
    blobs: Blobs = request.getfixturevalue(place)
    data = os.urandom(size)
    key = write_blob(blobs, data)
    assert read_blob(blobs, key) == data
    with blobs.fetch(key) as copy:
        assert copy.read() == data
        assert copy.fileno() > 0
    with blobs.open(key, max(0, size - 3)) as end:
        assert end.read() == data[max(0, size - 3) :]


def test_pieces_become_one_blob_once_it_is_kept(blobs: Blobs) -> None:
    draft = blobs.draft()
    draft.write(b"first ")
    draft.write(b"second")
    key = draft.keep()
    draft.drop()
    assert read_blob(blobs, key) == b"first second"


@pytest.mark.parametrize("size", [4, IN_MEMORY + 1])
def test_a_draft_can_be_read_before_it_is_kept(blobs: Blobs, size: int) -> None:
    draft = blobs.draft()
    draft.write(b"x" * size)
    with draft.open() as file:
        assert len(file.read()) == size
    key = draft.keep()
    draft.drop()
    assert len(read_blob(blobs, key)) == size


def test_a_dropped_draft_leaves_nothing(blobs: Blobs, tmp_path: Path) -> None:
    draft = blobs.draft()
    draft.write(b"half")
    draft.drop()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert list(blobs.list_all()) == []


def test_a_copy_has_the_key_of_its_original(blobs: Blobs) -> None:
    draft = blobs.draft("ab" * 16)
    draft.write(b"copy")
    assert draft.keep() == "ab" * 16
    draft.drop()
    assert [(found.key, found.size) for found in blobs.list_all()] == [("ab" * 16, 4)]


def test_a_disk_that_is_nearly_full_is_left_to_the_database(tmp_path: Path) -> None:
    full = FolderBlobs(tmp_path, SystemClock(), reserve=2**60)
    with pytest.raises(DiskNearlyFull):
        write_blob(full, b"games")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_is_spooled_leaves_the_reserve_too(
    bucket_server: BucketServer, tmp_path: Path
) -> None:
    full = open_bucket(bucket_server.address(), tmp_path, reserve=2**60)
    with pytest.raises(DiskNearlyFull):
        write_blob(full, b"x" * (IN_MEMORY + 1))


def test_equal_bytes_are_kept_twice(blobs: Blobs) -> None:
    first, second = write_blob(blobs, b"same"), write_blob(blobs, b"same")
    blobs.remove(first)
    assert read_blob(blobs, second) == b"same"


@pytest.mark.parametrize("key", ["", "x", "0" * 32, "../../../../etc/passwd", "a/" * 16])
def test_a_key_that_was_never_given_out_is_unknown(blobs: Blobs, key: str) -> None:
    with pytest.raises(UnknownBlob):
        read_blob(blobs, key)
    assert not blobs.has(key)


def test_removing_twice_is_no_fault(blobs: Blobs) -> None:
    key = write_blob(blobs, b"x")
    blobs.remove(key)
    blobs.remove(key)
    assert not blobs.has(key)
    with pytest.raises(UnknownBlob):
        blobs.open(key)


def test_only_old_blobs_are_listed_for_the_sweep(folder: FolderBlobs) -> None:
    old, _ = write_blob(folder, b"old"), write_blob(folder, b"new")
    age(folder.path(old))
    assert [found.key for found in folder.list_all(older_than_seconds=3600)] == [old]


def test_a_bucket_lists_by_age_too(bucket: BucketBlobs) -> None:
    key = write_blob(bucket, b"x")
    assert list(bucket.list_all(older_than_seconds=3600)) == []
    bucket._clock = HandClock()  # which is years ahead
    assert [found.key for found in bucket.list_all(older_than_seconds=3600)] == [key]


def test_what_was_never_finished_goes_with_the_sweep(folder: FolderBlobs) -> None:
    left = folder.path(write_blob(folder, b"x")).with_suffix(UNFINISHED)
    left.write_bytes(b"half")
    assert [found.size for found in folder.list_all()] == [1]
    age(left)
    assert list(folder.list_all(older_than_seconds=3600)) == []
    assert not left.exists()


def test_two_servers_may_write_the_same_folder_at_once(tmp_path: Path) -> None:
    here, there = (FolderBlobs(tmp_path, SystemClock()) for _ in range(2))
    drafts = [each.draft("cd" * 16) for each in (here, there)]
    for draft in drafts:
        draft.write(b"same bytes")
    assert {draft.keep() for draft in drafts} == {"cd" * 16}
    assert [found.size for found in here.list_all()] == [10]


def test_blobs_on_the_move_are_read_from_either_place(
    folder: FolderBlobs, bucket: BucketBlobs
) -> None:
    moving = MovingBlobs(bucket, folder)
    before, after = write_blob(folder, b"before"), write_blob(moving, b"after")
    assert (read_blob(moving, before), read_blob(moving, after)) == (b"before", b"after")
    assert bucket.has(after)
    moving.remove(before)
    assert not folder.has(before)


def test_a_signed_address_gives_the_blob_to_anybody_for_a_while(bucket: BucketBlobs) -> None:
    address = bucket.sign(write_blob(bucket, b"games"), 60)
    with urlopen(address) as answer:
        assert answer.read() == b"games"
    with pytest.raises(HTTPError):
        urlopen(address.partition("?")[0])


# Storage that is away


def test_storage_that_is_away_is_asked_once_and_again_by_probes_alone(tmp_path: Path) -> None:
    log = RecordedLog()
    nobody = BucketAddress("farm", endpoint="http://127.0.0.1:1")
    blobs = open_bucket(nobody, tmp_path, log=log)
    with pytest.raises(StorageAway):
        write_blob(blobs, b"games")
    for _ in range(3):
        with pytest.raises(StorageAway):
            blobs.has("0" * 32)
    health = blobs._health
    assert health.stats().calls == {"put": 1}
    assert "the storage of files is away" in health.describe_trouble()
    assert log.events() == ["storage_away"]


def test_storage_that_is_back_is_used_again(bucket: BucketBlobs) -> None:
    health = bucket._health
    with pytest.raises(StorageAway), health.watch("put"):
        raise StorageAway("for the test")
    assert health.stats().is_away
    health.probe_now()
    assert health.describe_trouble() == ""
    assert read_blob(bucket, write_blob(bucket, b"games")) == b"games"


def test_a_bucket_that_is_not_there_is_no_missing_blob(
    bucket_server: BucketServer, tmp_path: Path
) -> None:
    blobs = open_bucket(BucketAddress("nowhere", endpoint=bucket_server.endpoint), tmp_path)
    with pytest.raises(StorageAway, match="no such bucket"):
        read_blob(blobs, "0" * 32)


def test_wrong_credentials_are_told_and_never_shown(
    bucket_server: BucketServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    blobs = open_bucket(bucket_server.address(), tmp_path)
    with pytest.raises(StorageAway, match="refuses our credentials") as raised:
        write_blob(blobs, b"games")
    assert "secret" not in str(raised.value)


def test_storage_that_hangs_is_given_up(bucket_server: BucketServer, tmp_path: Path) -> None:
    blobs = open_bucket(bucket_server.address(), tmp_path)
    bucket_server.pause()
    try:
        with pytest.raises(StorageAway, match="in time"):
            write_blob(blobs, b"games")
    finally:
        bucket_server.go_on()


@pytest.fixture
def hand_made(monkeypatch: pytest.MonkeyPatch) -> Iterator[HandMadeBucket]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with serve_hand_made_bucket() as server:
        yield server


def test_storage_may_take_the_seconds_of_the_settings_for_an_answer(
    hand_made: HandMadeBucket, tmp_path: Path
) -> None:
    hand_made.seconds_to_answer = 2.5
    settings = Settings(data=tmp_path, files_seconds=1)
    place = open_place(hand_made.address(), settings, Threads(), SystemClock(), RecordedLog())
    with pytest.raises(StorageAway):
        place.blobs("nets").has(make_key())


def test_an_upload_that_takes_longer_than_a_request_may_is_kept(
    hand_made: HandMadeBucket, tmp_path: Path
) -> None:
    """`open_bucket` gives a request two seconds."""
    hand_made.bytes_a_second = 200_000
    blobs = open_bucket(hand_made.address(), tmp_path)
    key = write_blob(blobs, bytes(600_000))
    assert len(read_blob(blobs, key)) == 600_000
    assert not blobs._health.stats().is_away


def test_an_upload_that_is_too_slow_takes_the_storage_from_nobody_else(
    hand_made: HandMadeBucket, tmp_path: Path
) -> None:
    hand_made.bytes_a_second = 5_000
    blobs = open_bucket(hand_made.address(), tmp_path)
    with pytest.raises(StorageAway, match="in time"):
        write_blob(blobs, bytes(100_000))
    assert read_blob(blobs, write_blob(blobs, b"games")) == b"games"
    assert blobs._health.stats().failures == {"put": 1}


def test_an_object_that_may_not_be_read_takes_the_storage_from_nobody_else(
    hand_made: HandMadeBucket, tmp_path: Path
) -> None:
    log = RecordedLog()
    blobs = open_bucket(hand_made.address(), tmp_path, log=log)
    key = write_blob(blobs, b"games")
    hand_made.denied.update(each for each in hand_made.objects if each.endswith(key))
    for ask in (blobs.has, blobs.remove, lambda key: read_blob(blobs, key)):
        with pytest.raises(StorageAway, match="denies access"):
            ask(key)
    assert read_blob(blobs, write_blob(blobs, b"more games")) == b"more games"
    assert log.events() == ["storage_call_failed"] * 3


def test_a_bucket_that_may_not_be_listed_is_there_all_the_same(
    hand_made: HandMadeBucket, tmp_path: Path
) -> None:
    hand_made.may_list = False
    blobs = open_bucket(hand_made.address(), tmp_path)
    blobs._health.probe_now()
    with pytest.raises(StorageAway):
        blobs.has("0" * 32)
    assert read_blob(blobs, write_blob(blobs, b"games")) == b"games"


def test_a_bucket_that_denies_everything_is_away(hand_made: HandMadeBucket, tmp_path: Path) -> None:
    hand_made.may_list = False
    hand_made.denied.add("probe")
    blobs = open_bucket(hand_made.address(), tmp_path)
    with pytest.raises(StorageAway):
        blobs.has("0" * 32)
    assert blobs._health.stats().is_away


def test_a_shared_folder_that_is_not_there_is_away_and_is_not_made(tmp_path: Path) -> None:
    shared, settings, clock = tmp_path / "mounted", Settings(data=tmp_path), SystemClock()
    place = open_place(shared, settings, Threads(), clock, RecordedLog())
    with pytest.raises(StorageAway, match="No such file"):
        write_blob(place.blobs("games"), b"games")
    assert not shared.exists()
    shared.mkdir()
    place.health.probe_now()
    blobs = place.blobs("games")
    assert read_blob(blobs, write_blob(blobs, b"games")) == b"games"
    assert [path.name for path in shared.iterdir()] == ["games"]


@pytest.mark.parametrize("kind", ["games", "nets"])
def test_what_is_packed_is_fetched_as_such_from_a_signed_address(
    bucket_server: BucketServer, tmp_path: Path, kind: str
) -> None:
    """As a browser or a worker does that was led there."""
    settings, address = Settings(data=tmp_path), bucket_server.address(tmp_path.name)
    place = open_place(address, settings, Threads(), SystemClock(), RecordedLog())
    blobs, packed = place.blobs(kind), gzip.compress(b"1. e4 e5 *")
    signed = blobs.sign(write_blob(blobs, packed), 60)
    with urlopen(signed, timeout=30) as answer:
        assert answer.read() == packed
        assert answer.headers["content-encoding"] == "gzip"
