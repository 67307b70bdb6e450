"""Nothing is removed from a place of files that is another database's."""

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.disk import StorageAway
from rookery.server.files.blobs import write_blob
from rookery.server.files.ownership import (
    FileOwner,
    FileOwners,
    ForeignFiles,
    Mark,
    OwnedBlobs,
    take_place,
)
from tests.fakes import RecordedLog
from tests.twins.files import MemoryBlobs

DAY = 86_400.0


class MemoryMark:
    """The mark of a place that may be away."""

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self.is_away = False

    def read(self) -> str:
        if self.is_away:
            raise StorageAway("for the test")
        return self.owner

    def write(self, owner: str) -> None:
        self.owner = owner


def own(mark: Mark, *, is_first: bool = True, database: str = "ours") -> FileOwner:
    return FileOwner("/mnt/farm", mark, database, RecordedLog(), is_first=is_first)


def test_the_primary_marks_a_place_that_has_no_mark() -> None:
    mark = MemoryMark()
    owner = own(mark)
    assert (owner.look(), mark.owner, owner.may_sweep()) == ("", "", False)
    owner.look(writes=True)
    assert (mark.owner, owner.may_sweep(), owner.describe_trouble()) == ("ours", True, "")


def test_the_mark_of_another_database_stays_and_nothing_is_removed() -> None:
    mark, log = MemoryMark("theirs"), RecordedLog()
    owner, blobs = FileOwner("/mnt/farm", mark, "ours", log), MemoryBlobs()
    owned = OwnedBlobs(blobs, owner)
    for _ in range(2):
        owner.look(writes=True)
    key = write_blob(owned, b"games")
    owned.remove(key)
    assert blobs.has(key)
    assert list(owned.list_all(older_than_seconds=DAY)) == []
    assert [found.key for found in owned.list_all()] == [key]
    assert (mark.owner, log.events()) == ("theirs", ["files_of_another_database"])
    assert "belong to another database (theirs)" in owner.describe_trouble()


def test_a_place_that_was_claimed_is_swept_from_then_on() -> None:
    mark = MemoryMark("theirs")
    owner, blobs = own(mark), MemoryBlobs()
    owned = OwnedBlobs(blobs, owner)
    key = write_blob(owned, b"games")
    assert not owner.may_remove()
    mark.write("ours")
    owner.look()
    assert [found.key for found in owned.list_all(older_than_seconds=DAY)] == [key]
    owned.remove(key)
    assert not blobs.has(key)


@pytest.mark.parametrize(("is_first", "may_remove"), [(True, True), (False, False)])
def test_before_there_is_a_mark_single_files_are_removed_from_the_place_for_new_ones_alone(
    is_first: bool, may_remove: bool
) -> None:
    owner = own(MemoryMark(), is_first=is_first)
    assert (owner.may_remove(), owner.may_sweep()) == (may_remove, False)


def test_the_other_place_of_a_move_is_not_marked() -> None:
    mark = MemoryMark()
    own(mark, is_first=False).look(writes=True)
    assert mark.owner == ""


def test_while_nobody_knows_the_mark_nothing_is_removed() -> None:
    mark, blobs = MemoryMark("ours"), MemoryBlobs()
    owned = OwnedBlobs(blobs, own(mark))
    key = write_blob(owned, b"games")
    mark.is_away = True
    with pytest.raises(StorageAway):
        owned.remove(key)
    assert blobs.has(key)


def test_where_the_database_tells_no_name_a_place_without_a_mark_is_ours() -> None:
    mark = MemoryMark()
    owner = own(mark, database="")
    owner.look(writes=True)
    assert (mark.owner, owner.may_sweep()) == ("", True)


def test_files_are_moved_to_no_place_of_another_database() -> None:
    new, theirs = MemoryMark(), MemoryMark("theirs")
    take_place("/mnt/new", new, "ours")
    assert new.owner == "ours"
    with pytest.raises(ForeignFiles, match="rookery files claim"):
        take_place("/mnt/theirs", theirs, "ours")
    assert theirs.owner == "theirs"


@pytest.mark.anyio
async def test_storage_that_is_away_is_asked_again_the_next_time() -> None:
    mark, owners = MemoryMark("theirs"), FileOwners("ours", Threads(), RecordedLog())
    owners.add("/mnt/farm", mark)
    mark.is_away = True
    await owners.look(writes=True)
    assert owners.describe_trouble() == ""
    mark.is_away = False
    await owners.look(writes=True)
    assert "/mnt/farm" in owners.describe_trouble()
