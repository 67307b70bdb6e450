#!/usr/bin/env python3
"""Every kind of client at once, for minutes: nothing may crash, leak or slow down.

Usage: asgi_soak.py [--seconds 600]. Exit 0 when descriptors, tasks and memory came back.
"""

import argparse
import contextlib
import json
import random
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ASGI = Path(__file__).resolve().parents[2] / "asgi"
sys.path.insert(0, str(ASGI))

OPTIONS = (
    "--timeout-head", "2", "--timeout-body", "2", "--timeout-write", "2",
    "--timeout-keep-alive", "2", "--timeout-graceful-shutdown", "2", "--no-access-log",
)  # fmt: skip
HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
SHAKE = (
    b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
)
Act = Callable[[socket.socket, random.Random], None]


def path(name: str) -> bytes:
    """A request for that path."""
    return f"GET {name} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


def ordinary(sock: socket.socket, chance: random.Random) -> None:
    """Requests, one after the other and pipelined."""
    for _ in range(chance.randrange(1, 50)):
        sock.sendall(HELLO * chance.choice((1, 1, 1, 20)))
        sock.recv(65536)


def uploads(sock: socket.socket, chance: random.Random) -> None:
    """A body, sometimes cut short."""
    size = chance.randrange(1, 2_000_000)
    sock.sendall(b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
    sock.sendall(b"x" * (size if chance.random() < 0.7 else size // 2))
    if chance.random() < 0.7:
        sock.recv(65536)


def chunks(sock: socket.socket, chance: random.Random) -> None:
    """A chunked body, sometimes malformed."""
    sock.sendall(b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(chance.randrange(1, 30)):
        part = b"y" * chance.randrange(1, 5000)
        sock.sendall(b"%x\r\n%b\r\n" % (len(part), part))
    sock.sendall(chance.choice((b"0\r\n\r\n", b"0\r\n\r\n", b"zz\r\n")))
    sock.recv(65536)


def downloads(sock: socket.socket, chance: random.Random) -> None:
    """A stream, read whole, in part or not at all."""
    sock.sendall(path("/stream?5"))
    for _ in range(chance.choice((0, 3, 200))):
        sock.recv(65536)
    time.sleep(chance.choice((0, 0, 0.2)))


def broken_apps(sock: socket.socket, chance: random.Random) -> None:
    """Applications that raise, return early, or wait for the client to leave."""
    names = ("/raises", "/raises-late", "/raises-after", "/returns", "/wait", "/events", "/none")
    sock.sendall(path(chance.choice(names)))
    with contextlib.suppress(TimeoutError):
        sock.settimeout(0.3)
        sock.recv(65536)


def websocket(sock: socket.socket, chance: random.Random) -> None:
    """Messages, pings, garbage, closes."""
    sock.sendall(SHAKE)
    sock.recv(65536)
    for _ in range(chance.randrange(1, 40)):
        payload = b"m" * chance.choice((1, 64, 125, 4000))
        head = b"\x81" + (
            bytes([0x80 | len(payload)])
            if len(payload) < 126
            else b"\xfe" + struct.pack("!H", len(payload))
        )
        sock.sendall(head + b"\0\0\0\0" + payload)
        sock.recv(65536)
    sock.sendall(chance.choice((b"\x88\x80\0\0\0\0", b"\xff\xff", b"")))


def slow(sock: socket.socket, chance: random.Random) -> None:
    """A byte now and then."""
    data = chance.choice(
        (HELLO, b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 90\r\n\r\n" + b"z" * 40)
    )
    for at in range(chance.randrange(1, len(data))):
        sock.sendall(data[at : at + 1])
        time.sleep(0.01)


def garbage(sock: socket.socket, chance: random.Random) -> None:
    """Random bytes, or a request with random bytes in it."""
    if chance.random() < 0.5:
        sock.sendall(chance.randbytes(chance.randrange(1, 3000)))
    else:
        data = bytearray(HELLO * 3)
        for _ in range(3):
            data[chance.randrange(len(data))] = chance.randrange(256)
        sock.sendall(data)
    sock.recv(65536)


ACTS: tuple[Act, ...] = (
    ordinary, ordinary, uploads, chunks, downloads, broken_apps, websocket, slow, garbage,
)  # fmt: skip


def client(served: Any, seed: int, end: float, counts: dict[str, int]) -> None:
    """One client after the other, ending in an orderly way or with a reset."""
    chance = random.Random(seed)
    while time.monotonic() < end:
        act = chance.choice(ACTS)
        with contextlib.suppress(OSError):
            sock = served.connect()
            sock.settimeout(5)
            with contextlib.suppress(OSError):
                act(sock, chance)
            if chance.random() < 0.3:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        counts[act.__name__] = counts.get(act.__name__, 0) + 1


def state(served: Any) -> dict[str, int]:
    """The resources that must return to their initial values: tasks, descriptors, memory."""
    with served.connect() as sock:
        sock.sendall(path("/notes"))
        body = sock.recv(65536).partition(b"\r\n\r\n")[2]
    return {
        "tasks": json.loads(body)["tasks"],
        "descriptors": served.descriptors(),
        "memory": served.memory(),
    }


def settle(served: Any) -> dict[str, int]:
    """The state once all time-outs have passed."""
    time.sleep(6)
    return state(served)


def main() -> int:
    """Warm up, soak, compare."""
    from tests.serving import serve

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--clients", type=int, default=12)
    given = parser.parse_args()
    counts: dict[str, int] = {}
    history: list[dict[str, int]] = []
    with serve("tests.apps:app", *OPTIONS) as served:
        for number, seconds in enumerate((min(30, given.seconds / 3), given.seconds)):
            end = time.monotonic() + seconds
            threads = [
                threading.Thread(target=client, args=(served, number * 1000 + i, end, counts))
                for i in range(given.clients)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            found = settle(served)
            print("after warming up" if number == 0 else "after the soak", found, flush=True)
            history.append(found)
        assert served.process.poll() is None
        ignored = [line for line in served.lines if "ignored" in line]
        assert served.stop() == 0
    print(sum(counts.values()), "clients:", counts)
    before, found = history
    grown = found["memory"] - before["memory"]
    same = all(found[name] <= before[name] for name in ("tasks", "descriptors"))
    print(f"memory grew by {grown / 1e6:.1f} MB; unraisable errors: {len(ignored)}")
    return 0 if same and grown < 8_000_000 and not ignored else 1


if __name__ == "__main__":
    sys.exit(main())
