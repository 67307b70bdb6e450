"""A real server on a real small disk that somebody fills, and empties again."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.rookery_process import LIMIT_SECONDS, RookeryProcess, run_rookery

MOUNT = 'mkdir -p "$0" && mount -t tmpfs -o size=220m none "$0" && exec "$@"'
USER = ("--user", "--map-user=1000", "--map-group=1000", "--keep-caps", "--mount")


def on_a_small_disk(folder: Path) -> tuple[str, ...]:
    """The command, with a disk of its own mounted on the folder, which other processes do not
    see but through it."""
    python = (sys.executable, "-m", "rookery.cli.main")
    return ("unshare", *USER, "sh", "-c", MOUNT, str(folder), *python)


def filled(server: RookeryProcess, folder: Path, leave: int) -> Path:
    """Writes until only so much is left; gives the file to remove."""
    inside = Path(f"/proc/{server.process.pid}/root{folder}")
    filling = inside / "filling"
    with filling.open("ab", buffering=0) as file:
        try:
            while free(inside) > leave:
                file.write(bytes(min(2**20, max(4096, free(inside) - leave))))
        except OSError:
            pass
    return filling


def free(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def ready(server: RookeryProcess) -> tuple[int, dict[str, object]]:
    status, text = server.get("/readyz")
    return status, json.loads(text)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_full_disk_is_told_as_what_it_is_and_gone_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    settings = {"ROOKERY_DISK_RESERVE_MB": "64"}
    command = on_a_small_disk(disk)
    with run_rookery(disk / "data", command=command, detect=False, settings=settings) as server:
        server.until("ready")
        assert ready(server) == (200, {"ready": True})

        filling = filled(server, disk, leave=50 * 10**6)
        until(lambda: "nearly full" in str(ready(server)[1].get("warning")))
        assert ready(server)[0] == 200
        assert "nearly full" in server.get("/login")[1]

        filled(server, disk, leave=0)
        until(lambda: ready(server)[0] == 503)
        assert str(ready(server)[1]["reason"]).startswith("disk full")
        assert "disk full" in server.get("/login")[1]
        told = server.until("disk_full")
        assert (told["path"], told["free_mb"]) == (str(disk / "data"), 0)

        filling.unlink()
        until(lambda: ready(server) == (200, {"ready": True}))
        server.until("disk_has_room")
        assert [one["event"] for one in server.events()].count("disk_full") == 1
        assert server.stop() == 0
