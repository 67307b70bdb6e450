"""Clients that send large bodies while they wait for the answer, and the cost of that."""

import json
import select
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PIECE = b"A" * 65_536
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class SentBody:
    """An answer, and how much of the body had been sent when it arrived."""

    status: int
    sent: int
    content: bytes

    @property
    def said(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.content)
        return found


def body_start(password: str, username: str, **fields: object) -> bytes:
    """The beginning of a body as the official worker sends it, up to the games."""
    said = {"password": password, **fields, "worker_info": {"username": username}}
    return json.dumps(said).encode()[:-1] + b', "pgn": "'


def send_body(
    place: tuple[str, int], path: str, head: bytes, size: int, *headers: str, chunked: bool = False
) -> SentBody:
    """Sends a body of `size` bytes, or less if the answer arrives before."""
    length = "transfer-encoding: chunked" if chunked else f"content-length: {size}"
    lines = (f"POST {path} HTTP/1.1", "host: localhost", length, *headers)
    with socket.create_connection(place, timeout=60) as wire:
        wire.sendall("\r\n".join((*lines, "", "")).encode())
        sent, piece = 0, head
        while sent < size and not select.select([wire], [], [], 0)[0]:
            try:
                wire.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            except ConnectionError:
                break
            sent += len(piece)
            piece = PIECE[: size - sent]
        return _answer(wire, sent)


def _answer(wire: socket.socket, sent: int) -> SentBody:
    got = b""
    while b"\r\n\r\n" not in got:
        piece = wire.recv(65_536)
        assert piece, f"no answer after {sent} bytes: {got!r}"
        got += piece
    head, _, content = got.partition(b"\r\n\r\n")
    told = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    while len(content) < int(told.split(b":")[1]):
        content += wire.recv(65_536)
    return SentBody(int(head.split()[1]), sent, content)


def run_at_once(calls: Sequence[Callable[[], SentBody]]) -> list[SentBody]:
    with ThreadPoolExecutor(len(calls)) as threads:
        return [each.result() for each in [threads.submit(call) for call in calls]]


def high_water_mb(pid: int) -> float:
    """The peak memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
