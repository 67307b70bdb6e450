"""What workers fetch to play with, beside nets: programs, books and sources."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.service.blobs import UnknownBlob
from rookery.service.sources.archives import Archive, mirrored_side
from rookery.service.sources.commits import CannotAsk
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.user.pieces import Piece, sent
from rookery.web.api.v1.callers import fetcher_of, fetching_actor
from rookery.web.faults import NotFound, Unavailable
from rookery.web.scope import header

BYTES = "application/octet-stream"
ASK_AGAIN = "no-cache"
"""A name may come to mean another book, once this one was removed."""
NEVER_CHANGES = "private, max-age=31536000, immutable"
LONGEST_WORDS = 1000
_NO_HEADER = re.compile(r"[^ -~]")
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A repository, and the user on whose behalf it is fetched."""

    repository: str
    owner: str


class SourceEndpoints:
    """Each is known by its hash, so that whoever has it need not fetch it again."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    @runs(Domain.STREAM, "a file is read piece by piece in threads")
    async def binary(self, request: Request) -> Response:
        sha256, store = str(request.path_params["sha256"]), self._desk.sources.binaries
        found = await store.rows.by_hash(sha256) if _SHA256.fullmatch(sha256) else None
        if found is None or not await self._is_for(request, sha256):
            raise NotFound("There is no such program.")
        headers = {"etag": f'"{sha256}"', "cache-control": NEVER_CHANGES}
        return await self._file(request, lambda: store.blobs.path(found.blob), found.size, headers)

    @runs(Domain.STREAM, "a file is read piece by piece in threads")
    async def book(self, request: Request) -> Response:
        name, store = str(request.path_params["name"]), self._desk.sources.books
        found = await store.by_name(name)
        if found is None or not await self._is_for(request, name):
            raise NotFound("There is no such book.")
        headers = {"etag": f'"{found.sha256}"', "cache-control": ASK_AGAIN}
        return await self._file(request, lambda: store.path(found), found.size, headers)

    async def _is_for(self, request: Request, file: str) -> bool:
        fetcher = await fetcher_of(request, self._desk)
        return self._desk.holdings.sees(fetcher, file)

    @runs(Domain.STREAM, "fetched and packed in a thread, then read piece by piece in threads")
    async def zipball(self, request: Request) -> Response:
        desk, sha = self._desk, str(request.path_params["sha"])
        found = await self._wanted(request, str(request.path_params["name"]), sha)
        if found is None:
            raise NotFound("No run that is not finished needs this source.")
        known = desk.repositories.open_to(found.owner)
        try:
            archive = await desk.sources.archives.get(found.repository, sha, known=known)
        except CannotAsk as why:
            raise Unavailable(f"The source can't be had: {why}.") from None
        size = await desk.threads.io(lambda: archive.file.stat().st_size)
        headers = {"etag": f'"{sha}"', "cache-control": NEVER_CHANGES, **_lacking(archive)}
        return sent([Piece(archive.file, 0, size)], desk, "application/zip", headers)

    async def _wanted(self, request: Request, name: str, sha: str) -> "_Wanted | None":
        """What is given is what runs are played with: to everybody once the run is approved, to
        the run's people before that and where it is private."""
        desk, fetcher = self._desk, await fetching_actor(request, self._desk)
        with refusals():
            active = await desk.fleet.active()
        for run in active:
            side = mirrored_side(run.plan, name, sha)
            if side is not None and desk.privacy.opens(fetcher, run):
                return _Wanted(side.repository, run.plan.owner)
        return None

    async def _file(
        self, request: Request, place: Callable[[], Path], size: int, headers: dict[str, str]
    ) -> Response:
        if header(request.scope, b"if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        try:
            path = await self._desk.threads.io(place)
        except UnknownBlob:
            raise NotFound from None
        return sent([Piece(path, 0, size)], self._desk, BYTES, headers)


def _lacking(archive: Archive) -> dict[str, str]:
    """The submodules that are not in it, for whoever wonders why nothing builds."""
    if not archive.missing:
        return {}
    words = "; ".join(archive.missing)[:LONGEST_WORDS]
    return {"x-rookery-missing-submodules": _NO_HEADER.sub("?", words)}
