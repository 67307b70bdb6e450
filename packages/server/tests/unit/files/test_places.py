"""Where the settings say that files are."""

from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.server.disk import DiskNearlyFull
from rookery.server.files.blobs import Blobs, UnknownBlob, read_blob, translated_errors, write_blob
from rookery.server.files.bucket import BucketAddress
from rookery.server.files.places import MovingBlobs, find_place, open_files, read_place
from rookery.server.logs import SilentLog
from rookery.server.settings import Settings, SettingsError
from tests.twins.files import MemoryBlobs


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("/mnt/farm", Path("/mnt/farm")),
        ("file:///mnt/a%20farm", Path("/mnt/a farm")),
        ("s3://farm", BucketAddress("farm")),
        (
            "s3://farm/a/b/?endpoint=https://s3.example.org/&region=eu-1",
            BucketAddress("farm", "a/b", endpoint="https://s3.example.org", region="eu-1"),
        ),
        ("s3://farm?style=host", BucketAddress("farm", by_host=True)),
    ],
)
def test_a_place_is_a_folder_or_a_bucket(url: str, place: Path | BucketAddress) -> None:
    assert read_place(url) == place


@pytest.mark.parametrize(
    "url", ["farm", "s3:///farm", "s3://key:secret@farm", "https://farm/x", "s3://farm?key=secret"]
)
def test_what_is_no_place_is_refused_by_its_name(url: str) -> None:
    with pytest.raises(SettingsError, match="ROOKERY_FILES_URL") as raised:
        read_place(url)
    assert "secret" not in str(raised.value)


def test_files_are_in_the_data_folder_unless_said_otherwise() -> None:
    data = Path("/srv/data")
    assert find_place(Settings(data=data)) == data / "blobs"
    assert find_place(Settings(data=data, files_url="s3://farm")) == BucketAddress("farm")


def test_the_name_of_a_bucket_is_for_people() -> None:
    address = BucketAddress("farm", "a", endpoint="https://s3.example.org")
    assert str(address) == "s3://farm/a at https://s3.example.org"


def test_a_site_on_the_move_reads_from_the_place_before() -> None:
    settings = Settings(data=Path("/srv/data"), files_old_url="/srv/before")
    place = open_files(settings, Threads(), SystemClock(), SilentLog())
    assert isinstance(place.blobs("nets"), MovingBlobs)
    assert place.name == "/srv/data/blobs"


def test_blobs_on_the_move_are_written_to_the_new_place_alone() -> None:
    new, old = MemoryBlobs(), MemoryBlobs()
    moving = MovingBlobs(new, old)
    before, after = write_blob(old, b"before"), write_blob(moving, b"after")
    assert (new.has(after), old.has(after)) == (True, False)
    assert read_blob(moving, before) == moving.fetch(before).read() == b"before"
    assert [found.key for found in moving.list_all()] == [after]
    assert moving.sign(before, 60) == ""
    moving.remove(before)
    with pytest.raises(UnknownBlob):
        moving.open(before)


def test_an_upload_leaves_the_disk_the_reserve_of_the_settings(tmp_path: Path) -> None:
    def open_nets(reserve: str) -> Blobs:
        named = {"ROOKERY_DATA": str(tmp_path), "ROOKERY_DISK_RESERVE_MB": reserve}
        place = open_files(Settings.read(named), Threads(), SystemClock(), SilentLog())
        return place.blobs("nets")

    assert open_nets("0").has(write_blob(open_nets("0"), b"a net"))
    with pytest.raises(DiskNearlyFull):
        write_blob(open_nets("999999999"), b"a net")


def test_a_full_file_system_is_not_away() -> None:
    with pytest.raises(OSError, match="full"), translated_errors():
        raise OSError(28, "full")
