"""Where `rookery engine add` takes nets from: a folder, a server, or the official one."""

import gzip
import http.client
import shutil
import urllib.request
from pathlib import Path

from rookery.boundary.offload import Threads
from rookery.over_http import is_web_address
from rookery.worker.engines.order import NoDownloads, NotOffered
from rookery.worker.session.faults import NotTaken
from rookery.worker.session.transport import LARGEST_FILE, copy_at_most

OFFICIAL = "https://tests.stockfishchess.org"
SECONDS = 120.0


class NetSources(NoDownloads):
    """Nets by name; programs and sources come from nowhere else."""

    def __init__(self, folder: Path | None, server: str, threads: Threads) -> None:
        self._folder = folder
        self._servers = [address.rstrip("/") for address in (server, OFFICIAL) if address]
        self._threads = threads

    async def net(self, name: str, into: Path) -> None:
        await self._threads.io(self._net, name, into)

    def _net(self, name: str, into: Path) -> None:
        if self._folder and (self._folder / name).is_file():
            shutil.copyfile(self._folder / name, into)
            return
        for server in self._servers:
            if is_web_address(server) and _fetched(server, name, into):
                return
        raise NotOffered


def _fetched(server: str, name: str, into: Path) -> bool:
    request = urllib.request.Request(f"{server}/api/nn/{name}")  # noqa: S310 - looked at before
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - the same
            packed = answer.headers.get("Content-Encoding") == "gzip"
            with into.open("wb") as file, gzip.GzipFile(fileobj=answer) as unpacked:
                copy_at_most(unpacked if packed else answer, file, LARGEST_FILE)
    except (OSError, EOFError, http.client.HTTPException, NotTaken):
        return False
    return True
