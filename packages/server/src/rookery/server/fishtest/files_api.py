"""Serves files piece by piece: games, nets, programs, books and sources."""

import re
from dataclasses import dataclass
from functools import partial

from starlette.responses import RedirectResponse, Response

from rookery.core.protocol.user_queries import parse_net_hash, parse_pgn_name, parse_run_pgns_name
from rookery.server.engines.grants import GrantedRepositories
from rookery.server.engines.privacy import Privacy
from rookery.server.farm.views import FleetViews
from rookery.server.files.access import FileAccess
from rookery.server.files.blobs import Blobs
from rookery.server.files.books import BookStore, find_visible_book
from rookery.server.files.engine_files import NetStore, ProgramStore
from rookery.server.files.games import GameStore, GameUpload
from rookery.server.files.sending import FileSender, Piece, blob_piece, open_file
from rookery.server.http.endpoint import STREAM, Endpoints
from rookery.server.http.faults import NotFound, Unavailable
from rookery.server.http.scope import SOURCES_PREFIX
from rookery.server.http.signatures import Parts
from rookery.server.identity.bearers import Caller, actor_of, name_of_caller
from rookery.server.sources.commits import Archive, Archives, SourceError, mirrored_side

GZIP = "application/gzip"
ZIP = "application/zip"
MOST_LOOKED_FOR = 20
"""For more files than this, their existence is not checked: a bucket would need a request for each,
and the rows say that they exist."""
NO_GAMES = "There are no games."
NO_NET = "There is no such net."
FOR_EVER = "public, max-age=31536000, immutable"
FOR_EVER_HERE = "private, max-age=31536000, immutable"


PIECE_BY_PIECE = "a file is read piece by piece in threads"
PACKED = "fetched and packed in a thread, then read piece by piece in threads"

api = Endpoints(documented=False)


@dataclass(frozen=True, slots=True)
class SeenGames(Parts):
    """The games that the caller may see."""

    caller: Caller | None
    games: GameStore
    privacy: Privacy
    views: FleetViews

    async def check(self, run_id: str) -> None:
        """Raise NotFound if the caller may not see the run. The run is not read if nothing is
        hidden."""
        viewer = name_of_caller(self.caller)
        if self.privacy.hidden(viewer):
            run = await self.views.run(run_id)
            if run is not None and not self.privacy.may_see(viewer, run):
                raise NotFound(NO_GAMES)


# The existence of every file is checked in a thread before the answer begins.


@api("GET /api/pgn/{name}", STREAM, PIECE_BY_PIECE)
async def get_pgn(seen: SeenGames, name: str, sender: FileSender) -> Response:
    """Return the games of a task."""
    task, blobs = parse_pgn_name(name), seen.games.blobs
    await seen.check(task.run_id)
    uploads = await seen.games.rows.of_task(task.run_id, task.task_id)
    if uploads and (elsewhere := await sender.find_signed(blobs, uploads[0].blob)):
        return elsewhere
    pieces = await _read_uploads(sender, blobs, uploads[:1])
    return sender.send(pieces, GZIP, {**_attachment(name), "content-encoding": "gzip"})


@api("GET /api/run_pgns/{name}", STREAM, "files are read piece by piece in threads")
async def get_run_pgns(seen: SeenGames, name: str, sender: FileSender) -> Response:
    """All games of a run."""
    run_id = parse_run_pgns_name(name)
    await seen.check(run_id)
    uploads = await seen.games.rows.of_run(run_id)
    pieces = await _read_uploads(sender, seen.games.blobs, uploads)
    return sender.send(pieces, GZIP, _attachment(name))


@api("GET /api/nn/{name}", STREAM, PIECE_BY_PIECE, for_workers=True)
async def get_net(
    nets: NetStore, access: FileAccess, caller: Caller | None, name: str, sender: FileSender
) -> Response:
    """Return a net, as it is stored, or a range of it; decompressed for clients that do not accept
    gzip."""
    parse_net_hash(name)
    net = await nets.rows.get(name)
    if net is None or not access.may_see(name_of_caller(caller), name):
        raise NotFound(NO_NET)
    # A net never changes, since its name is its hash.
    lasting = FOR_EVER_HERE if access.is_private(name) else FOR_EVER
    headers = {"etag": f'"{name}"', "cache-control": lasting}
    if sender.read_header(b"if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    nets.note_download(name)
    if sender.settings.nets_url:
        return RedirectResponse(f"{sender.settings.nets_url}/nn/{name}", 302)
    if sender.takes_gzip and (elsewhere := await sender.find_signed(nets.blobs, net.blob)):
        return elsewhere
    if not await sender.threads.files(nets.blobs.has, net.blob):
        raise NotFound(NO_NET)
    whole, headers["vary"] = blob_piece(nets.blobs, net.blob, net.size), "accept-encoding"
    if not sender.takes_gzip:
        return sender.send_unpacked(whole, headers)
    return sender.send_part(whole, {**headers, "content-encoding": "gzip"})


async def _read_uploads(
    sender: FileSender, blobs: Blobs, uploads: tuple[GameUpload, ...]
) -> list[Piece]:
    """Return the uploads that still exist; others have expired."""
    found = await sender.threads.files(_those_there, blobs, uploads)
    if not found:
        raise NotFound(NO_GAMES)
    return found


def _those_there(blobs: Blobs, uploads: tuple[GameUpload, ...]) -> list[Piece]:
    few = len(uploads) <= MOST_LOOKED_FOR
    there = (upload for upload in uploads if not few or blobs.has(upload.blob))
    return [blob_piece(blobs, upload.blob, upload.size) for upload in there]


def _attachment(name: str) -> dict[str, str]:
    # The route checks a name only up to its first dot. After it, a quote would end the header's
    # value, and letters outside ASCII are not allowed in a header.
    safe = "".join(each for each in name if each.isascii() and (each.isalnum() or each in "-._"))
    return {"content-disposition": f'attachment; filename="{safe}"'}


# What workers fetch besides nets: programs, books and sources.

ASK_AGAIN = "no-cache"
"""The cache setting for books. After a book is removed, its name may be given to another one."""
NEVER_CHANGES = "private, max-age=31536000, immutable"
LONGEST_WORDS = 1000
_NO_HEADER = re.compile(r"[^ -~]")
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A repository, and the user on whose behalf it is fetched."""

    repository: str
    owner: str


# Each file has a hash, so that clients which have it need not fetch it again.


@api("GET /api/binary/{sha256}", STREAM, PIECE_BY_PIECE, for_workers=True)
async def get_binary(
    programs: ProgramStore,
    access: FileAccess,
    caller: Caller | None,
    sha256: str,
    sender: FileSender,
) -> Response:
    """Return an uploaded program."""
    found = await programs.rows.get(sha256) if _SHA256.fullmatch(sha256) else None
    if found is None or not access.may_see(name_of_caller(caller), sha256):
        raise NotFound("There is no such program.")
    headers = {"etag": f'"{sha256}"', "cache-control": NEVER_CHANGES}
    whole = blob_piece(programs.blobs, found.blob, found.size)
    return await sender.send_file(programs.blobs, found.blob, whole, headers)


@api("GET /api/book/{name}", STREAM, PIECE_BY_PIECE, for_workers=True)
async def get_book(
    books: BookStore, access: FileAccess, caller: Caller | None, name: str, sender: FileSender
) -> Response:
    """Return a book."""
    found = await find_visible_book(books, access, name_of_caller(caller), name)
    if found is None:
        raise NotFound("There is no such book.")
    headers = {"etag": f'"{found.sha256}"', "cache-control": ASK_AGAIN}
    whole = Piece(partial(books.open, found), 0, found.size)
    return await sender.send_file(books.blobs, found.blob, whole, headers)


@dataclass(frozen=True, slots=True)
class SeenSources(Parts):
    """The sources that the caller may have."""

    caller: Caller | None
    privacy: Privacy
    views: FleetViews
    repositories: GrantedRepositories
    archives: Archives

    async def find(self, name: str, sha: str) -> _Wanted | None:
        """Find the repository of a requested source. Only sources of active runs are served: to
        everybody once the run is approved, and only to the run's people before that or if it is
        private."""
        for run in await self.views.active():
            side = mirrored_side(run.plan, name, sha)
            if side is not None and self.privacy.may_read_sources(actor_of(self.caller), run):
                return _Wanted(side.repository, run.plan.owner)
        return None


@api(f"GET {SOURCES_PREFIX}{{name}}/zipball/{{sha}}", STREAM, PACKED, for_workers=True)
async def get_archive(seen: SeenSources, name: str, sha: str, sender: FileSender) -> Response:
    """Return the source of one side of a run."""
    found = await seen.find(name, sha)
    if found is None:
        raise NotFound("No unfinished run needs this source.")
    known = seen.repositories.list_granted(found.owner)
    try:
        archive = await seen.archives.get(found.repository, sha, known=known)
    except SourceError as why:
        raise Unavailable(f"The source can't be fetched: {why}.") from None
    size = await sender.threads.io(lambda: archive.file.stat().st_size)
    headers = {"etag": f'"{sha}"', "cache-control": NEVER_CHANGES, **_lacking(archive)}
    return sender.send([Piece(partial(open_file, archive.file), 0, size)], ZIP, headers)


def _lacking(archive: Archive) -> dict[str, str]:
    """Return a header that lists the missing submodules, to explain a build that fails."""
    if not archive.missing:
        return {}
    words = "; ".join(archive.missing)[:LONGEST_WORDS]
    return {"x-rookery-missing-submodules": _NO_HEADER.sub("?", words)}
