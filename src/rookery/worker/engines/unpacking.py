"""Unpacks a source's zip archive: no file outside its folder, not more than a disk can bear."""

import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

MOST_BYTES = 2 * 2**30
MOST_FILES = 100_000


class BadArchive(Exception):
    """can't be unpacked"""

    def __init__(self, why: str) -> None:
        super().__init__(why)


def unpack(archive: Path, into: Path) -> None:
    """The tree without the one folder that archives put around it; raises BadArchive."""
    try:
        with zipfile.ZipFile(archive) as opened:
            _unpack(opened, into)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError):
        raise BadArchive("is damaged") from None


def _unpack(opened: zipfile.ZipFile, into: Path) -> None:
    members = opened.infolist()
    if len(members) > MOST_FILES or sum(each.file_size for each in members) > MOST_BYTES:
        raise BadArchive("unpacks to more than a source may have")
    outer = _outer([each.filename for each in members])
    for member in members:
        inner = PurePosixPath(member.filename).relative_to(outer)
        if inner.is_absolute() or ".." in inner.parts:
            raise BadArchive("has a file outside its folder")
        # Links could lead out of the folder, and no source needs one.
        if inner.parts and not stat.S_ISLNK(member.external_attr >> 16):
            _extract(opened, member, into.joinpath(*inner.parts))


def _outer(names: list[str]) -> PurePosixPath:
    firsts = {PurePosixPath(name).parts[:1] for name in names}
    alone = len(firsts) == 1 and any(len(PurePosixPath(name).parts) > 1 for name in names)
    return PurePosixPath(*next(iter(firsts))) if alone else PurePosixPath()


def _extract(opened: zipfile.ZipFile, member: zipfile.ZipInfo, place: Path) -> None:
    if member.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with opened.open(member) as packed, place.open("wb") as file:
        shutil.copyfileobj(packed, file)
    if (member.external_attr >> 16) & 0o111:
        place.chmod(0o755)
