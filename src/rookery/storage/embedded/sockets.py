"""Where the socket lies: in the data folder, or in a short folder when that path is too long."""

import os
import re
import stat
import tempfile
from pathlib import Path

from rookery.storage.embedded.layout import Layout
from rookery.storage.embedded.problems import NoSocketFolder

NAME = ".s.PGSQL.5432"
PORT = 5432
LONGEST = 107  # bytes in sockaddr_un, without the closing zero
# A comma separates hosts for libpq, and quotes and backslashes mean something in settings.
PLAIN = re.compile(r"[\w/ .+@=-]+", re.ASCII)


def choose(layout: Layout) -> Path:
    """Makes the folder for the socket, or takes the one of an earlier start again."""
    if fits(layout.socket):
        layout.socket.mkdir(mode=0o700, exist_ok=True)
        return layout.socket
    earlier = recorded(layout)
    if earlier is not None and _is_ours(earlier, layout):
        return earlier
    return _short_folder(layout)


def fits(folder: Path) -> bool:
    return len(os.fsencode(folder / NAME)) <= LONGEST and bool(PLAIN.fullmatch(str(folder)))


def recorded(layout: Layout) -> Path | None:
    """The folder that the server in use, or the last one, wrote down."""
    try:
        return Path(layout.address.read_text(encoding="utf-8").strip())
    except OSError:
        return None


def record(layout: Layout, folder: Path) -> None:
    layout.address.write_text(f"{folder}\n", encoding="utf-8")


def clear(folder: Path) -> None:
    """Removes a socket and its lock file of which nobody is the owner any more."""
    for name in (NAME, f"{NAME}.lock"):
        (folder / name).unlink(missing_ok=True)


def forget(layout: Layout, folder: Path) -> None:
    """Leaves no folder behind outside the data folder."""
    if folder == layout.socket:
        return
    try:
        clear(folder)
        folder.rmdir()
        layout.address.unlink(missing_ok=True)
    except OSError:
        return  # the next start finds it by the address and takes it again


def _is_ours(folder: Path, layout: Layout) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
    return private and found.st_uid == layout.home.stat().st_uid and fits(folder)


def _short_folder(layout: Layout) -> Path:
    reason = "no temporary folder is short enough"
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108 mkdtemp is private
        try:
            folder = Path(tempfile.mkdtemp(prefix="rookery-", dir=parent))
        except OSError as error:
            reason = f"{parent}: {error.strerror}"
            continue
        if fits(folder):
            return folder
        folder.rmdir()
    raise NoSocketFolder(path=layout.data, reason=reason)
