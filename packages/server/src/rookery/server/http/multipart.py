"""Reads forms with files (`multipart/form-data`) piece by piece, so that a file is never whole in
memory.

Fields come before the file that they belong to; browsers and scripts send them in the order of the
form. The first field is the CSRF token (see `CsrfGuard`).
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from rookery.server.http.bodies import Replayed, next_message, read_pieces
from rookery.server.http.faults import FieldsTooLate, MalformedForm
from rookery.server.http.scope import body_in, has_more, header

MULTIPART_TYPE = "multipart/form-data"
LARGEST_HEAD = 8 * 1024
"""The maximum size of the headers of one part."""
LARGEST_FIELD = 64 * 1024
MOST_PARTS = 50
FIELDS_BEFORE_FILE = frozenset({"engine", "name"})
"""Fields that say what a file is for. Other fields may follow the file and are ignored there."""
FIRST_BYTES = 16 * 1024
"""How much of a form is read to find its first field, the CSRF token."""
_BOUNDARY = re.compile(r'boundary="?([0-9A-Za-z\'()+_,./:=?-]{1,70})"?', re.ASCII)
_NAME = re.compile(rb'[; ]name="([^"\r\n]{0,200})"')
_FILE_NAME = re.compile(rb'[; ]filename="([^"\r\n]{0,1000})"')


def is_multipart(scope: Scope) -> bool:
    return header(scope, b"content-type").split(";")[0].strip().lower() == MULTIPART_TYPE


def find_boundary(content_type: str) -> bytes:
    """The boundary that separates the parts. Raises MalformedForm."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise MalformedForm
    return f"\r\n--{found[1]}".encode()


@dataclass(frozen=True, slots=True)
class PartHead:
    """The headers of a part. `file_name` is None for a plain field."""

    name: str
    file_name: str | None = None


def parse_head(head: bytes) -> PartHead:
    """Parse the headers of a part. Raises MalformedForm."""
    name, file = _NAME.search(head), _FILE_NAME.search(head)
    if name is None:
        raise MalformedForm
    return PartHead(
        name[1].decode("utf-8", "replace"),
        None if file is None else file[1].decode("utf-8", "replace"),
    )


class MultipartReader:
    """Reads the parts of one body in order. Each part is read to its end before the next one."""

    def __init__(self, boundary: bytes, pieces: AsyncIterator[bytes]) -> None:
        self._boundary = boundary
        self._pieces = pieces
        # The first boundary has no line break before it.
        self._buffer = bytearray(b"\r\n")
        self._parts = 0
        self._inside = True
        """Whether the boundary after the present part is still to come."""

    async def next_part(self) -> PartHead | None:
        """The head of the next part, or None at the end; raises MalformedForm."""
        async for _ in self.read_content():
            pass
        self._parts += 1
        ending = await self._take(2)
        if ending == b"--":
            return None
        if ending != b"\r\n" or self._parts > MOST_PARTS:
            raise MalformedForm
        self._inside = True
        return parse_head(b" " + await self._take_until(b"\r\n\r\n", LARGEST_HEAD))

    async def read_content(self) -> AsyncIterator[bytes]:
        """The content of the part whose head was read last, in pieces."""
        mark = self._boundary
        if not self._inside:
            return
        while (at := self._buffer.find(mark)) < 0:
            # The end of the buffer may be the beginning of a boundary.
            if (ready := len(self._buffer) - len(mark)) > 0:
                yield await self._take(ready)
            await self._more()
        found = await self._take(at)
        await self._take(len(mark))
        self._inside = False
        if found:
            yield found

    async def read_text(self) -> str:
        """The text of a plain field. Raises MalformedForm if it is too long."""
        text = bytearray()
        async for piece in self.read_content():
            text += piece
            if len(text) > LARGEST_FIELD:
                raise MalformedForm
        return text.decode("utf-8", "replace")

    async def _take_until(self, mark: bytes, most: int) -> bytes:
        searched = 0
        while (at := self._buffer.find(mark, searched)) < 0:
            if len(self._buffer) > most:
                raise MalformedForm
            searched = max(0, len(self._buffer) - len(mark))
            await self._more()
        found = await self._take(at)
        await self._take(len(mark))
        return found

    async def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._more()
        found = bytes(self._buffer[:size])
        del self._buffer[:size]
        return found

    async def _more(self) -> None:
        try:
            self._buffer += await anext(self._pieces)
        except StopAsyncIteration:
            raise MalformedForm from None


@dataclass(frozen=True, slots=True)
class FileForm:
    """The fields of a form before its file, and the content of the file in pieces."""

    fields: dict[str, str]
    file_name: str
    pieces: AsyncIterator[bytes]


async def read_file_form(request: Request, file_field: str) -> FileForm:
    """Read a form with one file, whose other fields come before it. Raises MalformedForm; reading
    the file raises FieldsTooLate at its end if a field that describes it follows."""
    boundary = find_boundary(header(request.scope, b"content-type"))
    reader = MultipartReader(boundary, read_pieces(request.receive))
    fields = dict[str, str]()
    while (part := await reader.next_part()) is not None:
        if part.name == file_field and part.file_name is not None:
            return FileForm(fields, part.file_name, _read_last(reader))
        fields[part.name] = await reader.read_text()
    raise MalformedForm


async def _read_last(reader: MultipartReader) -> AsyncIterator[bytes]:
    """Yield the file. A field after it that says what the file is for comes too late: a net whose
    private engine is named there would have been stored for everybody."""
    async for piece in reader.read_content():
        yield piece
    while (part := await reader.next_part()) is not None:
        if part.name in FIELDS_BEFORE_FILE:
            raise FieldsTooLate


# Reads the first field, the CSRF token, which is checked before anything else.


@dataclass(frozen=True, slots=True)
class PeekedForm:
    """The first field of a form, and a `receive` that returns the body as if nobody had read it."""

    first_name: str
    first_text: str
    receive: Receive


async def peek_first_field(scope: Scope, receive: Receive) -> PeekedForm:
    """Read as much as it takes to know the first field. Raises MalformedForm."""
    boundary = find_boundary(header(scope, b"content-type"))
    seen, body, more = list[Message](), bytearray(), True
    while more and len(body) < FIRST_BYTES and boundary not in body:
        message = await next_message(receive)
        seen.append(message)
        body += body_in(message)
        more = has_more(message)
    name, text = _parse_first(bytes(body), boundary)
    return PeekedForm(name, text, Replayed(seen, receive))


def _parse_first(body: bytes, boundary: bytes) -> tuple[str, str]:
    """The name and text of the first part, as far as it has been received."""
    opening = boundary[2:] + b"\r\n"
    head, mark, rest = body[len(opening) :].partition(b"\r\n\r\n")
    if not body.startswith(opening) or not mark:
        return "", ""
    content, found, _ = rest.partition(boundary)
    return parse_head(b" " + head).name, content.decode("utf-8", "replace") if found else ""
