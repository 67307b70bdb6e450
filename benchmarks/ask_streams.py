"""Many streams of Ask at once: how long the loop takes to answer others, and what a stream costs.

    python benchmarks/ask_streams.py [--streams 200] [--history 500]

A server on a farm of invented history, a language model that streams slowly in another process,
and this process, which asks. For each back end and pipeline: how many streams ended whole, how long
all took, the server's CPU for one, and how long /healthz took meanwhile. Then readers that leave:
how long until the server holds nothing of theirs any more. The exit code is 1 when a stream fails
or the middle answer of /healthz takes 50 ms or more.
"""

import argparse
import asyncio
import base64
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.places import IMPORTED  # noqa: E402 - found by the line above

LIMIT_SECONDS = 0.05
QUESTION = "Which pruning margins were tried at long time control, and did they fail?"
LOGIN = base64.b64encode(b"alva:rookery-demo-farm").decode()
MODEL = """
import asyncio
from tests.model_server import open_model
from tests.places import IMPORTED
async def main():
    async with open_model(pause={pause}) as model:
        print(model.url, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""
HELD = re.compile(
    r'^rookery_(?:gate_inside\{name="ask"\}|threads_running\{name="io"\}|bridge_inside) (\S+)$',
    re.MULTILINE,
)
CASES = (
    ("extractive", "direct"),
    ("extractive", "threaded"),
    ("openai", "direct"),
    ("openai", "threaded"),
)


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; `token` is that of a user."""

    pid: int
    port: int
    token: str

    def cpu_seconds(self) -> float:
        words = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def environment(**more: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("ROOKERY_")}
    return {**kept, "PYTHONPATH": IMPORTED, **more}


SERVE = """
import sys
from dataclasses import replace
from rookery.server.app.run import run_site
from rookery.server.settings import read_settings
settings = read_settings({"data": sys.argv[1], "port": sys.argv[2]})
sys.exit(run_site(replace(settings, ask_answers=1000, ask_sessions=1000)))
"""
"""A server that writes more answers at once than one with its usual limits."""


@contextmanager
def started(words: list[str], **more: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(words, env=environment(**more), stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def serving(data: Path, port: int, **settings: str) -> Iterator[Server]:
    words = [sys.executable, "-c", SERVE, str(data), str(port)]
    settings |= {"ROOKERY_ASK_MODEL_QUESTIONS": "0", "ROOKERY_LOG_LEVEL": "error"}
    with started(words, **settings) as process:
        token = asyncio.run(get_token(port))
        yield Server(process.pid, port, token)


async def call(port: int, method: str, path: str, body: str = "", authorization: str = "") -> str:
    """The whole answer to a request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    shown = f"Authorization: {authorization}\r\n" if authorization else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    head += f"{shown}Content-Length: {len(body)}\r\n\r\n"
    writer.write((head + body).encode())
    answer = await reader.read(-1)
    writer.close()
    return answer.decode()


async def get_token(port: int) -> str:
    """Once the server is up and has indexed what there is."""
    for _ in range(600):
        try:
            metrics = await call(port, "GET", "/metrics")
        except OSError:
            metrics = ""
        found = re.search(r"^rookery_ask_lag_commits (\S+)", metrics, re.MULTILINE)
        if found and float(found[1]) == 0:
            answer = await call(port, "POST", "/api/v1/tokens", "{}", f"Basic {LOGIN}")
            return str(json.loads(answer.partition("\r\n\r\n")[2])["secret"])
        await asyncio.sleep(0.5)
    raise SystemExit("the server did not come up")


async def measure(server: Server, streams: int) -> bool:
    """Prints one line; whether it is as it should be."""
    body, bearer = json.dumps({"query": QUESTION}), f"Bearer {server.token}"
    pings: list[float] = []
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await call(server.port, "POST", "/query/stream", body, bearer))

    async def ping() -> None:
        while len(answers) < streams:
            began = time.perf_counter()
            await call(server.port, "GET", "/healthz")
            pings.append(time.perf_counter() - began)
            await asyncio.sleep(0.01)

    await ask()
    answers.clear()
    cpu, began = server.cpu_seconds(), time.perf_counter()
    await asyncio.gather(ping(), *(ask() for _ in range(streams)))
    taken, spent = time.perf_counter() - began, server.cpu_seconds() - cpu
    whole = sum("event: done" in answer for answer in answers)
    middle, high = statistics.median(pings), statistics.quantiles(pings, n=100)[98]
    print(
        f"{whole}/{streams} whole in {taken:.1f} s, {1000 * spent / streams:.1f} ms of CPU each;"
        f" /healthz {1000 * middle:.0f} ms in the middle, {1000 * high:.0f} ms at 99 %",
        flush=True,
    )
    return whole == streams and middle < LIMIT_SECONDS


async def leave(server: Server, streams: int) -> None:
    """Readers that go away after the first token: when nothing of theirs is left."""
    body = json.dumps({"query": QUESTION})
    head = (
        "POST /query/stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer {server.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writers = []
    for _ in range(streams):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write((head + body).encode())
        writers.append((reader, writer))
    await asyncio.gather(*(reader.readuntil(b"event: token") for reader, _ in writers))
    began = time.perf_counter()
    for _, writer in writers:
        writer.close()
    while True:
        metrics = await call(server.port, "GET", "/metrics")
        held = HELD.findall(metrics)
        if not any(map(float, held)):
            break
    print(f"{streams} readers left; free after {time.perf_counter() - began:.2f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--history", type=int, default=500)
    parser.add_argument("--port", type=int, default=8439)
    wanted = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(prefix="rookery-ask-") as folder:
        data = Path(folder)
        seed = ["demo", "seed", f"--data={data}", "--runs=5", "--machines=20"]
        words = [sys.executable, "-m", "rookery.cli.main", *seed, f"--history={wanted.history}"]
        subprocess.run(words, env=environment(), check=True, stdout=subprocess.DEVNULL)
        with started([sys.executable, "-c", MODEL.format(pause=0.2)]) as model:
            assert model.stdout is not None
            url = model.stdout.readline().strip()
            for backend, pipeline in CASES:
                settings = {"ROOKERY_ASK_BACKEND": backend, "ROOKERY_ASK_PIPELINE": pipeline}
                settings |= {"ROOKERY_ASK_MODEL_URL": url, "ROOKERY_ASK_MODEL": "tiny"}
                with serving(data, wanted.port, **settings) as server:
                    print(f"{backend}, {pipeline}: ", end="", flush=True)
                    good &= asyncio.run(measure(server, wanted.streams))
                    if backend == "openai":
                        print(f"{backend}, {pipeline}: ", end="", flush=True)
                        asyncio.run(leave(server, wanted.streams // 4))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
