"""Serves files piece by piece: games, nets, programs, books and sources."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rookery.core.boundary.offload import stream
from rookery.core.protocol.user_queries import parse_net_hash, parse_pgn_name, parse_run_pgns_name
from rookery.server.app.site import Site
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.files.blobs import Blobs
from rookery.server.files.engine_files import StoredNet
from rookery.server.files.games import GameUpload
from rookery.server.http.bodies import IncompleteFile, StreamedAnswer
from rookery.server.http.endpoint import STREAM, Endpoints
from rookery.server.http.faults import NotFound, Unavailable
from rookery.server.http.scope import SOURCES_PREFIX, header
from rookery.server.people.bearers import Caller, actor_of, name_of_caller
from rookery.server.sources.commits import Archive, SourceError, mirrored_side

# Streams files: pieces are read chunk by chunk in threads.

CHUNK = 256 * 1024
GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_RANGE = re.compile(r"bytes=(\d{0,12})-(\d{0,12})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of bytes in a file. `open` returns the file from an offset on, and blocks."""

    open: Callable[[int], BinaryIO]
    start: int
    size: int


def blob_piece(blobs: Blobs, key: str, size: int) -> Piece:
    """The piece that covers a whole blob."""
    return Piece(partial(blobs.open, key), 0, size)


def open_file(path: Path, start: int) -> BinaryIO:
    file = path.open("rb")
    file.seek(start)
    return file


def wanted_range(text: str, size: int) -> range | None:
    """The single range that is requested; None if the whole file is to be sent instead."""
    found = _RANGE.fullmatch(text.strip())
    if found is None or not size:
        return None
    first, last = found.groups()
    if first:
        start, stop = int(first), min(int(last) + 1 if last else size, size)
    elif last and int(last):
        start, stop = max(0, size - int(last)), size
    else:
        return None
    return range(start, stop) if start < stop else None


def sent(
    pieces: Sequence[Piece],
    site: Site,
    media_type: str,
    headers: dict[str, str],
    status: int = 200,
) -> Response:
    """An answer with the pieces one after another and their total length."""
    answer = StreamedAnswer(
        stream(lambda: chunks(pieces), site.threads, files=True),
        site.streams,
        media_type=media_type,
        headers=headers,
        is_file=True,
    )
    answer.status_code = status
    answer.headers["content-length"] = str(sum(piece.size for piece in pieces))
    return answer


def unpacked(piece: Piece, site: Site, headers: dict[str, str]) -> Response:
    """An answer with the decompressed bytes, whose number is not known beforehand."""
    source = stream(lambda: inflated(chunks([piece])), site.threads, files=True)
    return StreamedAnswer(
        source,
        site.streams,
        media_type="application/octet-stream",
        headers=headers,
        is_file=True,
    )


def chunks(pieces: Iterable[Piece]) -> Iterator[bytes]:
    for piece in pieces:
        with piece.open(piece.start) as file:
            left = piece.size
            while left > 0 and (chunk := file.read(min(CHUNK, left))):
                left -= len(chunk)
                yield chunk
        if left > 0:
            raise IncompleteFile("the storage has fewer bytes than there were")


def inflated(packed: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress at most one chunk at a time, whatever the ratio of compression."""
    inflater = zlib.decompressobj(GZIP_OR_ZLIB)
    for chunk in packed:
        left = chunk
        while left:
            yield inflater.decompress(left, CHUNK)
            left = inflater.unconsumed_tail
    yield inflater.flush()


GZIP = "application/gzip"
SIGNED_SECONDS = 60
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


# The existence of every file is checked in a thread before the answer begins.


@api("GET /api/pgn/{name}", STREAM, PIECE_BY_PIECE)
async def get_pgn(site: Site, caller: Caller | None, name: str, request: Request) -> Response:
    """The games of a task."""
    task = parse_pgn_name(name)
    await _check_seen(site, task.run_id, caller)
    uploads = await site.games.rows.of_task(task.run_id, task.task_id)
    if uploads and (
        elsewhere := await _find_signed(site, request, site.games.blobs, uploads[0].blob)
    ):
        return elsewhere
    pieces = await _read_uploads(site, uploads[:1])
    headers = {**_attachment(name), "content-encoding": "gzip"}
    return sent(pieces, site, GZIP, headers)


@api("GET /api/run_pgns/{name}", STREAM, "files are read piece by piece in threads")
async def get_run_pgns(site: Site, caller: Caller | None, name: str) -> Response:
    """All games of a run."""
    run_id = parse_run_pgns_name(name)
    await _check_seen(site, run_id, caller)
    pieces = await _read_uploads(site, await site.games.rows.of_run(run_id))
    return sent(pieces, site, GZIP, _attachment(name))


@api("GET /api/nn/{name}", STREAM, PIECE_BY_PIECE, for_workers=True)
async def get_net(site: Site, caller: Caller | None, name: str, request: Request) -> Response:
    """A net."""
    net = await _find_net(site, name, name_of_caller(caller))
    if header(request.scope, b"if-none-match") == _etag(net):
        return Response(status_code=304, headers=_cache_headers(site, net))
    site.nets.note_download(name)
    if site.settings.nets_url:
        return RedirectResponse(f"{site.settings.nets_url}/nn/{name}", 302)
    takes_gzip = "gzip" in header(request.scope, b"accept-encoding").lower()
    if takes_gzip and (elsewhere := await _find_signed(site, request, site.nets.blobs, net.blob)):
        return elsewhere
    if not await site.threads.files(site.nets.blobs.has, net.blob):
        raise NotFound(NO_NET)
    return _send_net(site, request, net, blob_piece(site.nets.blobs, net.blob, net.size))


async def _find_signed(site: Site, request: Request, blobs: Blobs, blob: str) -> Response | None:
    """A redirect to a signed address, if the operator wants it and the storage supports it. It
    expires soon and must not be cached, because it opens the file for anybody."""
    if not site.settings.files_redirect or request.method != "GET":
        return None
    address = await site.threads.files(blobs.sign, blob, SIGNED_SECONDS)
    return RedirectResponse(address, 302, {"cache-control": "no-store"}) if address else None


def _send_net(site: Site, request: Request, net: StoredNet, whole: Piece) -> Response:
    """The net as it is stored, or a range of it; decompressed for clients that do not accept
    gzip."""
    if "gzip" not in header(request.scope, b"accept-encoding").lower():
        return unpacked(whole, site, {"vary": "accept-encoding", **_cache_headers(site, net)})
    headers = {
        "content-encoding": "gzip",
        "vary": "accept-encoding",
        "accept-ranges": "bytes",
        **_cache_headers(site, net),
    }
    part = wanted_range(header(request.scope, b"range"), net.size)
    if part is None:
        return sent([whole], site, "application/octet-stream", headers)
    headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{net.size}"
    piece = Piece(whole.open, part.start, len(part))
    return sent([piece], site, "application/octet-stream", headers, status=206)


def _cache_headers(site: Site, net: StoredNet) -> dict[str, str]:
    """Cache headers of a net. It never changes, since its name is its hash."""
    private = site.file_access.is_private(net.name)
    lasting = FOR_EVER_HERE if private else FOR_EVER
    return {"etag": _etag(net), "cache-control": lasting}


async def _find_net(site: Site, name: str, fetcher: str | None) -> StoredNet:
    parse_net_hash(name)
    net = await site.nets.rows.get(name)
    if net is None or not site.file_access.may_see(fetcher, name):
        raise NotFound(NO_NET)
    return net


async def _check_seen(site: Site, run_id: str, caller: Caller | None) -> None:
    """Raise NotFound if the caller may not see the run. The run is not read if nothing is
    hidden."""
    viewer = name_of_caller(caller)
    if site.privacy.hidden(viewer):
        run = await site.fleet.views.run(run_id)
        if run is not None and not site.privacy.may_see(viewer, run):
            raise NotFound(NO_GAMES)


async def _read_uploads(site: Site, uploads: tuple[GameUpload, ...]) -> list[Piece]:
    """The uploads that still exist; others have expired."""
    found = await site.threads.files(_those_there, site.games.blobs, uploads)
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


def _etag(net: StoredNet) -> str:
    return f'"{net.name}"'


# What workers fetch besides nets: programs, books and sources.

BYTES = "application/octet-stream"
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
async def get_binary(site: Site, caller: Caller | None, sha256: str, request: Request) -> Response:
    """An uploaded program."""
    store = site.programs
    found = await store.rows.get(sha256) if _SHA256.fullmatch(sha256) else None
    if found is None or not site.file_access.may_see(name_of_caller(caller), sha256):
        raise NotFound("There is no such program.")
    headers = {"etag": f'"{sha256}"', "cache-control": NEVER_CHANGES}
    whole = blob_piece(store.blobs, found.blob, found.size)
    return await _send_file(site, request, store.blobs, found.blob, whole, headers)


@api("GET /api/book/{name}", STREAM, PIECE_BY_PIECE, for_workers=True)
async def get_book(site: Site, caller: Caller | None, name: str, request: Request) -> Response:
    """A book."""
    found = await site.books.by_name(name)
    if found is None or not site.file_access.may_see(name_of_caller(caller), name):
        raise NotFound("There is no such book.")
    headers = {"etag": f'"{found.sha256}"', "cache-control": ASK_AGAIN}
    whole = Piece(partial(site.books.open, found), 0, found.size)
    return await _send_file(site, request, site.books.blobs, found.blob, whole, headers)


@api(f"GET {SOURCES_PREFIX}{{name}}/zipball/{{sha}}", STREAM, PACKED, for_workers=True)
async def get_archive(site: Site, caller: Caller | None, name: str, sha: str) -> Response:
    """The source of one side of a run."""
    found = await _find_side(site, actor_of(caller), name, sha)
    if found is None:
        raise NotFound("No unfinished run needs this source.")
    known = site.repositories.list_granted(found.owner)
    try:
        archive = await site.archives.get(found.repository, sha, known=known)
    except SourceError as why:
        raise Unavailable(f"The source can't be fetched: {why}.") from None
    size = await site.threads.io(lambda: archive.file.stat().st_size)
    headers = {"etag": f'"{sha}"', "cache-control": NEVER_CHANGES, **_lacking(archive)}
    piece = Piece(partial(open_file, archive.file), 0, size)
    return sent([piece], site, "application/zip", headers)


async def _find_side(site: Site, fetcher: Actor | None, name: str, sha: str) -> _Wanted | None:
    """Find the repository of a requested source. Only sources of active runs are served: to
    everybody once the run is approved, and only to the run's people before that or if it is
    private."""
    for run in await site.fleet.views.active():
        side = mirrored_side(run.plan, name, sha)
        if side is not None and site.privacy.may_read_sources(fetcher, run):
            return _Wanted(side.repository, run.plan.owner)
    return None


async def _send_file(
    site: Site,
    request: Request,
    blobs: Blobs,
    blob: str,
    whole: Piece,
    headers: dict[str, str],
) -> Response:
    """Send a whole file. A book without a blob comes with the package."""
    if header(request.scope, b"if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    if blob and (elsewhere := await _find_signed(site, request, blobs, blob)):
        return elsewhere
    if blob and not await site.threads.files(blobs.has, blob):
        raise NotFound
    return sent([whole], site, BYTES, headers)


def _lacking(archive: Archive) -> dict[str, str]:
    """A header that lists the missing submodules, to explain a build that fails."""
    if not archive.missing:
        return {}
    words = "; ".join(archive.missing)[:LONGEST_WORDS]
    return {"x-rookery-missing-submodules": _NO_HEADER.sub("?", words)}
