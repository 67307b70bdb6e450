"""Files on their way out: which bytes of which files, read a chunk at a time in threads."""

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

from rookery.boundary.stream import stream
from rookery.service.blobs import Blobs
from rookery.web.api.desk import ApiDesk
from rookery.web.streams import StreamedAnswer

CHUNK = 256 * 1024
GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_RANGE = re.compile(r"bytes=(\d{0,12})-(\d{0,12})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of a file."""

    path: Path
    start: int
    size: int


def piece_of(blobs: Blobs, key: str, size: int) -> Piece:
    """A whole blob; looks at the disk, and raises UnknownBlob."""
    return Piece(blobs.path(key), 0, size)


def wanted_range(text: str, size: int) -> range | None:
    """The one range that is asked for; None where the whole is to be sent instead."""
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
    desk: ApiDesk,
    media_type: str,
    headers: dict[str, str],
    status: int = 200,
) -> Response:
    """The pieces one after the other, with their length told beforehand."""
    answer = StreamedAnswer(
        stream(lambda: chunks(pieces), desk.threads),
        desk.streams,
        media_type=media_type,
        headers=headers,
    )
    answer.status_code = status
    answer.headers["content-length"] = str(sum(piece.size for piece in pieces))
    return answer


def unpacked(piece: Piece, desk: ApiDesk, headers: dict[str, str]) -> Response:
    """The bytes themselves; how many they are is not known beforehand."""
    source = stream(lambda: inflated(chunks([piece])), desk.threads)
    return StreamedAnswer(
        source, desk.streams, media_type="application/octet-stream", headers=headers
    )


def chunks(pieces: Iterable[Piece]) -> Iterator[bytes]:
    for piece in pieces:
        with piece.path.open("rb") as file:
            file.seek(piece.start)
            left = piece.size
            while left > 0 and (chunk := file.read(min(CHUNK, left))):
                left -= len(chunk)
                yield chunk


def inflated(packed: Iterable[bytes]) -> Iterator[bytes]:
    """Never more than a chunk at a time, however well it was packed."""
    inflater = zlib.decompressobj(GZIP_OR_ZLIB)
    for chunk in packed:
        left = chunk
        while left:
            yield inflater.decompress(left, CHUNK)
            left = inflater.unconsumed_tail
    yield inflater.flush()
