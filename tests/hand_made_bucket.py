"""A small S3 server that does what a real one does not do on demand: it reads uploads slowly, and
denies access to single objects."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from rookery.server.files.bucket import BucketAddress

BUCKET = "farm"
PIECE = 16 * 1024
POLL_SECONDS = 0.05
DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
MISSING = b"<Error><Code>NoSuchKey</Code></Error>"
KEYS = re.compile(r"<Key>([^<]+)</Key>")
NUMBERS = re.compile(rb"<PartNumber>(\d+)</PartNumber>")


@dataclass
class HandMadeBucket:
    """The objects of the server, and how it answers."""

    port: int = 0
    bytes_a_second: float = 0.0
    """The rate at which uploads are read; 0 for no limit."""
    seconds_to_answer: float = 0.0
    """How long a request for an object waits for its answer."""
    may_list: bool = True
    """Whether listing is allowed; without it, a missing object is answered as a forbidden one."""
    denied: set[str] = field(default_factory=set)
    """Keys of objects that nobody may read."""
    objects: dict[str, bytes] = field(default_factory=dict)
    parts: dict[tuple[str, int], bytes] = field(default_factory=dict)

    def address(self) -> BucketAddress:
        return BucketAddress(BUCKET, endpoint=f"http://127.0.0.1:{self.port}")


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: ClassVar[HandMadeBucket]

    def do_GET(self) -> None:
        key, _ = self._read_target()
        time.sleep(self.bucket.seconds_to_answer)
        found = self.bucket.objects.get(key)
        if key in self.bucket.denied or (found is None and not self.bucket.may_list):
            self._answer(403, DENIED)
        elif found is None:
            self._answer(404, MISSING)
        elif asked := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", "")):
            self._answer_range(found, int(asked[1]), int(asked[2]))
        else:
            self._answer(200, found)

    def _answer_range(self, found: bytes, first: int, last: int) -> None:
        if first >= len(found):
            self._answer(416, b"<Error><Code>InvalidRange</Code></Error>")
            return
        piece = found[first : last + 1]
        told = f"bytes {first}-{first + len(piece) - 1}/{len(found)}"
        self._answer(206, piece, {"content-range": told})

    do_HEAD = do_GET  # noqa: N815 - http.server calls it

    def do_PUT(self) -> None:
        key, query = self._read_target()
        body = self._read_body(self.bucket.bytes_a_second)
        if "partNumber" in query:
            self.bucket.parts[key, int(query["partNumber"][0])] = body
        else:
            self.bucket.objects[key] = body
        self._answer(200, b"")

    def do_POST(self) -> None:
        key, query = self._read_target()
        body = self._read_body(0.0)
        if "uploads" in query:
            names = f"<Bucket>{BUCKET}</Bucket><Key>{key}</Key><UploadId>1</UploadId>"
            told = f"<InitiateMultipartUploadResult>{names}</InitiateMultipartUploadResult>"
            self._answer(200, told.encode())
            return
        if "delete" in query:
            self._answer(200, f"<DeleteResult>{self._delete(body)}</DeleteResult>".encode())
            return
        numbers = [int(number) for number in NUMBERS.findall(body)]
        whole = b"".join(self.bucket.parts.pop((key, number)) for number in numbers)
        self.bucket.objects[key] = whole
        told = '<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>'
        self._answer(200, told.encode())

    def _delete(self, asked: bytes) -> str:
        """Removes objects; the answer tells for each key whether it was removed."""
        told = ""
        for key in KEYS.findall(asked.decode()):
            if key in self.bucket.denied:
                told += f"<Error><Key>{key}</Key><Code>AccessDenied</Code><Message/></Error>"
            else:
                self.bucket.objects.pop(key, None)
                told += f"<Deleted><Key>{key}</Key></Deleted>"
        return told

    def _read_target(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        key = parts.path.removeprefix(f"/{BUCKET}/")
        return key, parse_qs(parts.query, keep_blank_values=True)

    def _read_body(self, bytes_a_second: float) -> bytes:
        left, body = int(self.headers.get("content-length", "0")), bytearray()
        while left > 0 and (piece := self.rfile.read(min(PIECE, left))):
            body += piece
            left -= len(piece)
            if bytes_a_second:
                time.sleep(len(piece) / bytes_a_second)
        return bytes(body)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        told = {"etag": '"1"', "last-modified": "Tue, 01 Jan 2030 00:00:00 GMT"}
        for name, value in (told | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Logs nothing."""


@contextmanager
def serve_hand_made_bucket() -> Iterator[HandMadeBucket]:
    bucket = HandMadeBucket()
    handler = type("Answers", (_Answers,), {"bucket": bucket})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        bucket.port = server.server_port
        thread = Thread(target=server.serve_forever, args=(POLL_SECONDS,))
        thread.start()
        try:
            yield bucket
        finally:
            server.shutdown()
            thread.join()
