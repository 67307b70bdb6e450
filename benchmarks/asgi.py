#!/usr/bin/env python3
"""rookery-asgi against uvicorn (httptools + uvloop), granian and hypercorn, interleaved, as ratios.

Usage: python benchmarks/asgi.py [--rounds 4] [--seconds 2] [--only hello,echo,...] [--table]
                                 [--servers rookery-asgi,mongoose,uvicorn,granian,hypercorn]

"mongoose" is rookery-asgi with `--core mongoose`. Run it with an interpreter that has rookery-asgi,
the servers that are asked for, httptools, uvloop, fastapi, websockets and, for mongoose,
cymongoose; wrk must be on the PATH. Rates on a busy machine mean little: the ratios are medians of
neighbouring runs, and CPU per request is the server's own. Prints one JSON document at the end,
and with `--table` the CPU per request as Markdown.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

APP = """
import json

async def app(scope, receive, send):
    kind = scope["type"]
    if kind == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    if kind == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({**message, "type": "websocket.send"})
        return
    path = scope["path"]
    if path == "/chunks":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(100):
            await send({"type": "http.response.body", "body": b"x" * 100, "more_body": True})
        await send({"type": "http.response.body"})
        return
    if path == "/file":
        name = scope["query_string"].decode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if "http.response.pathsend" in scope.get("extensions", {}):
            await send({"type": "http.response.pathsend", "path": name})
            return
        with open(name, "rb") as file:
            while part := file.read(65536):
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})
        return
    if path == "/download":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        part = b"x" * 65536
        for _ in range(1600):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})
        return
    body = b"hello"
    if scope["method"] == "POST":
        parts, total, more = [], 0, True
        while more:
            message = await receive()
            total += len(message.get("body", b""))
            if path != "/upload":
                parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        if path == "/upload":
            body = str(total).encode()
        else:
            body = json.dumps(json.loads(b"".join(parts))).encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
"""
FAST = """
from fastapi import FastAPI, Request

app = FastAPI()

@app.get("/sync")
def sync():
    return {"ok": True}

@app.get("/async")
async def async_():
    return {"ok": True}
"""
# Mongoose takes no body over 3 MB, and thousands of connections cost it each poll.
UNABLE = {("mongoose", "upload"), ("mongoose", "idle"), ("granian", "idle"), ("hypercorn", "idle")}
LUA = 'wrk.method="POST"; wrk.headers["content-type"]="application/json"; wrk.body=%r\n'


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def commands(app: str, port: int) -> dict[str, list[str]]:
    """How each server is started, one process each."""
    python, at = sys.executable, ["--port", str(port)]
    quiet = ["--log-level", "error"]
    return {
        "rookery-asgi": [python, "-m", "rookery_asgi", app, *at, "--no-access-log", *quiet,
                         "--timeout-keep-alive", "600"],
        "mongoose": [python, "-m", "rookery_asgi", app, *at, "--core", "mongoose",
                     "--no-access-log", *quiet, "--timeout-keep-alive", "600"],
        "uvicorn": [python, "-m", "uvicorn", app, *at, "--no-access-log", *quiet, "--loop",
                    "uvloop", "--http", "httptools", "--timeout-keep-alive", "600"],
        "granian": [python, "-m", "granian", app, *at, "--interface", "asgi", "--no-access-log",
                    "--loop", "uvloop", *quiet],
        "hypercorn": [python, "-m", "hypercorn", app, "--bind", f"127.0.0.1:{port}",
                      "--worker-class", "uvloop", *quiet],
    }  # fmt: skip


@dataclass
class Server:
    """A running server."""

    name: str
    port: int
    process: subprocess.Popen[bytes]

    def pids(self) -> list[int]:
        """The process and its children: granian's workers are processes of their own."""
        found = [self.process.pid]
        for pid in found:
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
                found += map(int, text.split())
        return found

    def cpu(self) -> float:
        """Seconds of CPU used so far."""
        ticks = 0
        for pid in self.pids():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Resident bytes."""
        total = 0
        for pid in self.pids():
            with contextlib.suppress(OSError):
                found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
                total += int(found.group(1)) * 1024 if found else 0
        return total


@contextlib.contextmanager
def servers(folder: Path, app: str, names: list[str]) -> Iterator[list[Server]]:
    """Those that were asked for, ready."""
    started = []
    for name in names:
        port = free_port()
        process = subprocess.Popen(commands(app, port)[name], cwd=folder, stderr=subprocess.DEVNULL)
        started.append(Server(name, port, process))
    try:
        for server in started:
            wait_for(server.port)
        yield started
    finally:
        for server in started:
            server.process.terminate()
        for server in started:
            server.process.wait(30)


def wait_for(port: int) -> None:
    """Until something listens there."""
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise SystemExit(f"nothing listens on port {port}")


@dataclass
class Table:
    """Figures of one scenario, by server."""

    rates: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)

    def add(self, server: Server, rate: float, cpu: float) -> None:
        """One run."""
        self.rates.setdefault(server.name, []).append(rate)
        self.cpu.setdefault(server.name, []).append(cpu)

    def summary(self) -> dict[str, object]:
        """Medians; ratios are taken run by run."""
        ours = self.rates["rookery-asgi"]
        ratio = {
            name: round(statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), 2)
            for name, theirs in self.rates.items()
            if name != "rookery-asgi"
        }
        rate = {name: round(statistics.median(values)) for name, values in self.rates.items()}
        cpu = {name: round(statistics.median(values), 1) for name, values in self.cpu.items()}
        return {"rate": rate, "cpu_us": cpu, "ratio": ratio}


Run = Callable[[Server], tuple[float, int]]


def measure(running: list[Server], rounds: int, run: Run) -> dict[str, object]:
    """Interleaved rounds; the order turns, so that no server is always first."""
    table = Table()
    for number in range(rounds):
        for server in running[number % len(running) :] + running[: number % len(running)]:
            before = server.cpu()
            rate, count = run(server)
            table.add(server, rate, (server.cpu() - before) / max(1, count) * 1e6)
    return table.summary()


def wrk(path: str, seconds: int, connections: int = 64, script: Path | None = None) -> Run:
    """Requests per second as wrk counts them."""

    def run(server: Server) -> tuple[float, int]:
        extra = ["-s", str(script)] if script else []
        done = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", *extra,
             f"http://127.0.0.1:{server.port}{path}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
        count = re.search(r"(\d+) requests in", done.stdout)
        assert rate, done.stdout
        assert count, done.stdout
        assert "Non-2xx" not in done.stdout, done.stdout
        return float(rate.group(1)), int(count.group(1))

    return run


def download(path: str) -> Run:
    """100 MB to a client that reads as fast as it can."""
    request = f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    def run(server: Server) -> tuple[float, int]:
        began, buffer, total = time.monotonic(), bytearray(1 << 20), 0
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            sock.sendall(request.encode())
            while count := sock.recv_into(buffer):
                total += count
        assert total >= 100 << 20
        return total / 1e6 / (time.monotonic() - began), 100

    return run


def upload(server: Server) -> tuple[float, int]:
    """100 MB from a client that sends as fast as it can."""
    size, part = 1600 * 65536, b"x" * (1 << 20)
    head = (
        f"POST /upload HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
    )
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port)) as sock:
        sock.sendall(head.encode())
        for _ in range(size // len(part)):
            sock.sendall(part)
        answer = b""
        while part := sock.recv(65536):
            answer += part
    assert str(size).encode() in answer, answer
    return size / 1e6 / (time.monotonic() - began), 100


def repeated(run: Run, times: int = 6) -> Run:
    """One transfer is too short for the clock that counts CPU."""

    def several(server: Server) -> tuple[float, int]:
        rates, counts = zip(*(run(server) for _ in range(times)), strict=True)
        return statistics.median(rates), sum(counts)

    return several


def websocket_echo(seconds: float) -> Run:
    """Echoes per second over 16 connections, one message in flight each; framing by hand."""
    key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    shake = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + key
    frame = b"\x81\xc0\0\0\0\0" + b"m" * 64

    async def one(port: int, end: float) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(shake.encode())
        await reader.readuntil(b"\r\n\r\n")
        count = 0
        while time.monotonic() < end:
            writer.write(frame)
            await reader.readexactly(66)
            count += 1
        writer.close()
        return count

    async def all_of(port: int) -> int:
        end = time.monotonic() + seconds
        return sum(await asyncio.gather(*(one(port, end) for _ in range(16))))

    def run(server: Server) -> tuple[float, int]:
        import uvloop

        count = uvloop.run(all_of(server.port))
        return count / seconds, count

    return run


def idle(server: Server, count: int) -> dict[str, float]:
    """Memory of many idle connections, and what an active one notices of them."""
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    before = server.memory()
    began = time.monotonic()
    waiting = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
    for sock in waiting:
        sock.sendall(request)
        sock.recv(4096)
    opened = time.monotonic() - began
    memory = (server.memory() - before) / count
    before_cpu, times = server.cpu(), []
    with socket.create_connection(("127.0.0.1", server.port)) as active:
        for _ in range(2000):
            start = time.perf_counter()
            active.sendall(request)
            active.recv(4096)
            times.append(time.perf_counter() - start)
    cpu = (server.cpu() - before_cpu) / 2000 * 1e6
    for sock in waiting:
        sock.close()
    time.sleep(1.0)
    return {
        "seconds_to_open": round(opened, 2),
        "bytes_each": round(memory),
        "active_median_us": round(statistics.median(times) * 1e6),
        "active_cpu_us": round(cpu, 1),
    }


def as_table(found: dict[str, Any], names: list[str]) -> str:
    """CPU per request, in µs, as Markdown."""
    rows = [["scenario", *names], ["---"] * (len(names) + 1)]
    for key, summary in found.items():
        if "cpu_us" in summary:
            rows.append([key, *(str(summary["cpu_us"].get(name, "-")) for name in names)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    """Run the scenarios that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument(
        "--only", default="hello,echo,many,fastapi,websocket,chunks,download,file,upload,idle"
    )
    parser.add_argument("--servers", default="rookery-asgi,uvicorn,granian")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    names = given.servers.split(",")
    wanted, found = set(given.only.split(",")), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bare.py").write_text(APP)
        (folder / "fast.py").write_text(FAST)
        payload = json.dumps({"text": "x" * 1000})
        (folder / "large").write_bytes(bytes(1600 * 65536))
        script = folder / "post.lua"
        script.write_text(LUA % payload)
        runs: dict[str, Run] = {
            "hello": wrk("/", given.seconds),
            "echo": wrk("/echo", given.seconds, script=script),
            "many": wrk("/", given.seconds, connections=1000),
            "websocket": websocket_echo(given.seconds),
            "chunks": wrk("/chunks", given.seconds),
            "download": repeated(download("/download")),
            "file": repeated(download(f"/file?{folder / 'large'}")),
            "upload": repeated(upload),
        }
        with servers(folder, "bare:app", names) as running:
            for key, run in runs.items():
                if key in wanted:
                    able = [s for s in running if (s.name, key) not in UNABLE]
                    found[key] = measure(able, given.rounds, run)
                    print(key, json.dumps(found[key]), flush=True)
            if "idle" in wanted:
                found["idle"] = {
                    s.name: idle(s, given.idle) for s in running if (s.name, "idle") not in UNABLE
                }
                print("idle", json.dumps(found["idle"]), flush=True)
        if "fastapi" in wanted:
            with servers(folder, "fast:app", names) as running:
                for path in ("sync", "async"):
                    found[f"fastapi {path}"] = measure(
                        running, given.rounds, wrk(f"/{path}", given.seconds)
                    )
                    print(f"fastapi {path}", json.dumps(found[f"fastapi {path}"]), flush=True)
    print(json.dumps(found))
    if given.table:
        print(as_table(found, names))


if __name__ == "__main__":
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    main()
