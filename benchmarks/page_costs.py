"""What each page costs the server with the data of a large farm: CPU and size per request.

    PYTHONPATH=src:. python benchmarks/page_costs.py

Seeds a farm (200 runs at play, 10,000 machines, 1,000 finished runs), serves it and asks for every
page as an approver. CPU is that of the server process, without PostgreSQL's; the first request of
each page is left out, since it fills caches. The exit code is 1 where a page takes more than 50 ms.
"""

import http.cookiejar
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

from scripts.shots_of_farms import (
    FARMS,
    PAGES,
    PASSWORD,
    find_chat,
    find_names,
    wait_until_ready,
)
from tests.places import PROJECT
from tests.ports import kept_port
from tests.rookery_process import COMMAND, environment

ROUNDS = 10
TICKS = 100.0
MOST_MS = 50.0


class Visitor:
    """An approver's browser without a screen."""

    def __init__(self, address: str) -> None:
        self.address = address
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(jar)

    def get(self, path: str) -> bytes:
        with self._opener.open(self.address + path) as answer:
            found: bytes = answer.read()
        return found

    def log_in(self) -> None:
        page = self.get("/login").decode()
        token = re.search(r'name="csrf_token" value="(\w+)"', page)
        assert token
        fields = {"username": "alva", "password": PASSWORD, "csrf_token": token[1]}
        sent = urllib.parse.urlencode(fields).encode()
        self._opener.open(f"{self.address}/login", sent).read()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(visitor: Visitor, pid: int, path: str) -> tuple[float, float, int]:
    """Milliseconds of CPU and of waiting for a request, and bytes of its answer."""
    size = len(visitor.get(path))
    used, began = cpu_seconds(pid), time.perf_counter()
    for _ in range(ROUNDS):
        visitor.get(path)
    waited, spent = time.perf_counter() - began, cpu_seconds(pid) - used
    return 1000 * spent / ROUNDS, 1000 * waited / ROUNDS, size


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, kept_port() as port:
        data = f"{folder}/data"
        seed = [*COMMAND, "demo", "seed", *FARMS["much"], "--data", data]
        subprocess.run(seed, cwd=PROJECT, env=environment(), check=True)
        line = [*COMMAND, "serve", "--data", data, "--port", str(port)]
        with Path(folder, "log").open("w") as log:
            plain = environment(detect=False)
            server = subprocess.Popen(line, cwd=PROJECT, env=plain, stdout=log, stderr=log)
        try:
            over = print_costs(f"http://127.0.0.1:{port}", server.pid)
        finally:
            server.terminate()
            server.wait(60)
    for path in over:
        print(f"over {MOST_MS:.0f} ms: {path}")
    return 1 if over else 0


def print_costs(address: str, pid: int) -> list[str]:
    """Gives the pages that cost too much."""
    wait_until_ready(address)
    names = find_names(address)
    visitor = Visitor(address)
    visitor.log_in()
    names["chat"] = find_chat(visitor.get("/ask").decode())
    time.sleep(5)
    before = cpu_seconds(pid)
    time.sleep(5)
    print(f"idle: {(cpu_seconds(pid) - before) / 5:.1%} of a core")
    print(f"{'page':44} {'CPU ms':>7} {'wait ms':>8} {'kB':>6}")
    over = []
    for path in PAGES:
        if path == "/nowhere":
            continue
        cpu, waited, size = measure(visitor, pid, path.format_map(names))
        print(f"{path:44} {cpu:7.1f} {waited:8.1f} {size / 1000:6.0f}", flush=True)
        if cpu > MOST_MS:
            over.append(path)
    return over


if __name__ == "__main__":
    sys.exit(main())
