"""Sends files to a client: whole, in part, or unpacked, read chunk by chunk in threads."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rookery.core.boundary.offload import Threads, stream
from rookery.server.files.blobs import Blobs
from rookery.server.http.bodies import IncompleteFile, StreamedAnswer, Streams
from rookery.server.http.faults import NotFound
from rookery.server.http.scope import header
from rookery.server.http.signatures import Parts
from rookery.server.settings import Settings

BYTES = "application/octet-stream"
SIGNED_SECONDS = 60
Headers = dict[str, str]
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
    """Return the piece that covers a whole blob."""
    return Piece(partial(blobs.open, key), 0, size)


def open_file(path: Path, start: int) -> BinaryIO:
    file = path.open("rb")
    file.seek(start)
    return file


def wanted_range(text: str, size: int) -> range | None:
    """Return the single range that is requested; None if the whole file is to be sent instead."""
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


@dataclass(frozen=True, slots=True)
class FileSender(Parts):
    """Sends files to one client, whose request says in which form it takes them."""

    request: Request
    threads: Threads
    streams: Streams
    settings: Settings

    @property
    def takes_gzip(self) -> bool:
        return "gzip" in self.read_header(b"accept-encoding").lower()

    def read_header(self, name: bytes) -> str:
        return header(self.request.scope, name)

    def send(
        self, pieces: Sequence[Piece], media_type: str, headers: Headers, status: int = 200
    ) -> Response:
        """Return an answer with the pieces one after another and their total length."""
        answer = self._stream(lambda: chunks(pieces), media_type, headers)
        answer.status_code = status
        answer.headers["content-length"] = str(sum(piece.size for piece in pieces))
        return answer

    def send_unpacked(self, piece: Piece, headers: Headers) -> Response:
        """Return an answer with the decompressed bytes, whose number is not known beforehand."""
        return self._stream(lambda: inflated(chunks([piece])), BYTES, headers)

    def send_part(self, whole: Piece, headers: Headers) -> Response:
        """Return the whole, or the range of it that is asked for."""
        part = wanted_range(self.read_header(b"range"), whole.size)
        headers = {**headers, "accept-ranges": "bytes"}
        if part is None:
            return self.send([whole], BYTES, headers)
        headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{whole.size}"
        return self.send([Piece(whole.open, part.start, len(part))], BYTES, headers, status=206)

    async def send_file(self, blobs: Blobs, blob: str, whole: Piece, headers: Headers) -> Response:
        """Send a whole file. A book without a blob comes with the package."""
        if self.read_header(b"if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        if blob and (elsewhere := await self.find_signed(blobs, blob)):
            return elsewhere
        if blob and not await self.threads.files(blobs.has, blob):
            raise NotFound
        return self.send([whole], BYTES, headers)

    async def find_signed(self, blobs: Blobs, blob: str) -> Response | None:
        """Return a redirect to a signed address, if the operator wants it and the storage supports
        it. It expires soon and must not be cached, because it opens the file for anybody."""
        if not self.settings.files_redirect or self.request.method != "GET":
            return None
        address = await self.threads.files(blobs.sign, blob, SIGNED_SECONDS)
        return RedirectResponse(address, 302, {"cache-control": "no-store"}) if address else None

    def _stream(
        self, read: Callable[[], Iterator[bytes]], media_type: str, headers: Headers
    ) -> StreamedAnswer:
        source = stream(read, self.threads, files=True)
        return StreamedAnswer(
            source, self.streams, media_type=media_type, headers=headers, is_file=True
        )
