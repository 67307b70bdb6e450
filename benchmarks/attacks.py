"""How long /healthz takes while strangers' texts are thrown at a server.

    PYTHONPATH=src:. python benchmarks/attacks.py [--seconds 5] [--only NAME ...]

A server on its own database is asked for /healthz every ten milliseconds: first while nothing else
happens, then through each attack. Printed are the slowest answers of both, and what the attacker
was told. An attack is a function and a line in ATTACKS.
"""

import argparse
import base64
import gzip
import http.client
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.faults.serving import made_account
from tests.rookery_process import run_rookery
from tests.submissions import SPRT, body
from tests.wire.worker.farm import worker_info

USER = "wanda"
PASSWORD = "correct horse battery"
PAUSE_SECONDS = 0.01
DEAR_PASSWORD = "4@8({[<3691!|0$5+7%2abcegilostxz4@8({[<3691!|0$5+7%2abcegilostxz"
MIB = 2**20


@dataclass(slots=True)
class Target:
    """The server, and an account with a token and a task."""

    port: int
    token: str
    ids: dict[str, object] = field(default_factory=dict)

    def send(
        self, path: str, data: bytes, method: str = "POST", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            line.request(method, path, data, headers or {})
            answer = line.getresponse()
            return answer.status, answer.read()
        except (ConnectionError, http.client.HTTPException):
            return 0, b""
        finally:
            line.close()

    def send_json(self, path: str, value: object, method: str = "POST") -> tuple[int, bytes]:
        shown = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        return self.send(path, json.dumps(value).encode(), method, shown)

    def take_task(self) -> None:
        self.send_json("/api/v1/runs", body(sprt=SPRT))
        asked = {"password": PASSWORD, "worker_info": worker_info(USER)}
        _, said = self.send("/api/request_task", json.dumps(asked).encode())
        task = json.loads(said)
        self.ids = {"run_id": task["run"]["_id"], "task_id": task["task_id"]}

    def upload(self, text: bytes) -> int:
        pgn = base64.b64encode(gzip.compress(text)).decode()
        asked = {"password": PASSWORD, "worker_info": worker_info(USER), "pgn": pgn, **self.ids}
        return self.send("/api/upload_pgn", json.dumps(asked).encode())[0]


def braces(target: Target) -> object:
    """200,000 comments without an end, 264 bytes when packed."""
    return target.upload(b'[Event "x"]\n\n' + b"{" * 200_000)


def empty_comments(target: Target) -> object:
    """Games of a megabyte with half a million comments each, 12 MB in all."""
    return target.upload((b'[Event "x"]\n\n' + b"{}" * (MIB // 2 - 20) + b"\n\n") * 12)


def net_pattern(target: Target) -> object:
    """A record with a pattern that never ends elsewhere, and a run with a net to match it."""
    record = {"name": "Slow", "nets": {"pattern": r"(a|aa|\\)*b"}}
    put, _ = target.send_json("/api/v1/engines/Slow", record, "PUT")
    wanted = body(sprt=SPRT, new_engine="Slow", new_nets=["a" * 60])
    return put, target.send_json("/api/v1/runs", wanted)[0]


def arch_filter(target: Target) -> object:
    wanted = body(sprt=SPRT, arch_filter=r"((x|xx|-|8|6|4|[a-z0-9])*)*!")
    return target.send_json("/api/v1/runs", wanted)[0]


def dear_passwords(target: Target) -> object:
    """Applications for accounts whose passwords take long to judge."""
    applied = [
        {"name": f"ada{number}", "email": f"{number}@a.org", "password": DEAR_PASSWORD}
        for number in range(10)
    ]
    return sorted({target.send_json("/api/v1/users", each)[0] for each in applied})


def anonymous_bodies(target: Target) -> object:
    """Ten bodies of 20 MB at once from somebody who is nobody."""
    said = json.dumps({"password": "no", "worker_info": worker_info("nobody"), "pgn": ""}).encode()
    # Encoding 20 MB would hold up the process that also asks for /healthz.
    data, answers = said[:-2] + b"H4sI" * (5 * MIB) + said[-2:], list[int]()
    senders = [
        threading.Thread(target=lambda: answers.append(target.send("/api/upload_pgn", data)[0]))
        for _ in range(10)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    return sorted(set(answers))


ATTACKS: dict[str, Callable[[Target], object]] = {
    "braces": braces,
    "empty comments": empty_comments,
    "net pattern": net_pattern,
    "arch_filter": arch_filter,
    "dear passwords": dear_passwords,
    "anonymous bodies": anonymous_bodies,
}


class Probe:
    """Asks for /healthz all the time and notes how many milliseconds each answer took."""

    def __init__(self, port: int) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.times: list[float] = []
        self._thread.start()

    def _ask(self) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            began = time.perf_counter()
            self._line.request("GET", "/healthz")
            self._line.getresponse().read()
            self.times.append(1000 * (time.perf_counter() - began))

    def taken(self) -> list[float]:
        """What was measured since the last call."""
        found, self.times = self.times, []
        return found or [0.0]

    def end(self) -> None:
        self._stop.set()
        self._thread.join()


def measure(target: Target, names: list[str], seconds: float) -> None:
    probe = Probe(target.port)
    try:
        time.sleep(seconds)
        rows = [("nothing", seconds, probe.taken(), "")]
        for name in names:
            began = time.perf_counter()
            told = ATTACKS[name](target)
            took = time.perf_counter() - began
            time.sleep(max(0.2, 1 - took))
            rows.append((name, took, probe.taken(), str(told)))
    finally:
        probe.end()
    print(f"load {os.getloadavg()[0]:.1f}")
    print(f"{'attack':18} {'took s':>7} {'/healthz p50/p99/max ms':>26}  answers")
    for name, took, times, told in rows:
        times.sort()
        half, most = times[len(times) // 2], times[int(0.99 * (len(times) - 1))]
        print(f"{name:18} {took:7.1f} {f'{half:.1f} / {most:.1f} / {times[-1]:.1f}':>26}  {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of the quiet time")
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        account = made_account(data, USER, PASSWORD)
        with run_rookery(data, "serve", detect=False) as server:
            target = Target(urlsplit(server.address).port or 0, account.token)
            target.take_task()
            measure(target, options.only, options.seconds)
            held = [one for one in server.events() if one["event"] == "interpreter_held"]
            print(f"times that the interpreter was held over 0.1 s: {len(held)}")


if __name__ == "__main__":
    main()
