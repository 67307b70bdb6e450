"""Files that a worker fetches: from its server, and what the server does not have from GitHub."""

import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from rookery.boundary.offload import Threads
from rookery.worker.engines.order import NotOffered
from rookery.worker.session.conversation import Conversation
from rookery.worker.session.faults import NotTaken, Refused, Unreachable
from rookery.worker.session.reporting import Patience, insist
from rookery.worker.session.transport import LARGEST_FILE, copy_at_most
from rookery.worker.session.watching import Watcher

ATTEMPTS = 6
"""A server that is just being started again must not cost a run its machine."""
LARGEST_ARCHIVE = 2 * 2**30
BOOKS = "https://github.com/official-stockfish/books/raw/master"


class ServerDownloads:
    """What the workshop and the games need. Files arrive under their name only when whole."""

    def __init__(
        self, talk: Conversation, threads: Threads, watch: Watcher, patience: Patience
    ) -> None:
        self._transport = talk.transport
        self._credentials = (talk.account.username, talk.account.password)
        self._threads = threads
        self._watch = watch
        self._patience = replace(patience, attempts=ATTEMPTS)
        self.foreign = False
        """Another project's server: it gets no password with a download and has no books."""

    async def net(self, name: str, into: Path) -> None:
        await self._offered(f"/api/nn/{name}", into)

    async def binary(self, sha256: str, into: Path) -> None:
        await self._offered(f"/api/binary/{sha256}", into)

    async def source(self, repository: str, commit: str, into: Path) -> None:
        """A zip archive, where the repository is the server's own; git fetches the others."""
        if not repository.startswith(f"{self._transport.server}/"):
            raise NotOffered
        address = f"{repository.rstrip('/')}/zipball/{commit}"
        await self._offered(address, into, LARGEST_ARCHIVE)

    async def book(self, name: str, into: Path) -> None:
        if not self.foreign:
            try:
                await self._fetch(f"/api/book/{name}", into)
            except NotTaken:
                raise
            except Refused:
                # The server has it not; official books are in one place for everybody.
                pass
            else:
                return
        pack = into.with_name(f"{name}.zip")
        await self._fetch(f"{BOOKS}/{name}.zip", pack)
        await self._threads.io(_unpack, pack, name, into)

    async def _offered(self, address: str, into: Path, most_bytes: int = LARGEST_FILE) -> None:
        try:
            await self._fetch(address, into, most_bytes)
        except NotTaken as why:
            raise OSError(f"{address.rpartition('/')[2]}: {why}") from None
        except Refused:
            raise NotOffered from None
        except Unreachable as error:
            raise OSError(str(error)) from None

    async def _fetch(self, address: str, into: Path, most_bytes: int = LARGEST_FILE) -> None:
        credentials = None if self.foreign else self._credentials
        fetch = partial(
            self._transport.fetch, address, into, credentials=credentials, most_bytes=most_bytes
        )
        await insist(fetch, self._patience, self._threads, self._watch)


def _unpack(pack: Path, name: str, into: Path) -> None:
    part = into.with_name(f"{name}.part")
    try:
        with zipfile.ZipFile(pack) as archive:
            with archive.open(name) as packed, part.open("wb") as file:
                copy_at_most(packed, file, LARGEST_FILE)
            part.replace(into)
    except (zipfile.BadZipFile, KeyError) as error:
        raise Unreachable(f"{pack.name} does not hold the book: {error}") from None
    finally:
        pack.unlink(missing_ok=True)
        part.unlink(missing_ok=True)
