"""Made-up bodies and calls for a server, and texts that make careless parsers slow.

    scripts/prove fuzz [--bodies N] [--calls N] [--texts N] [--seed N]

Bodies for each worker endpoint and calls of the JSON API are sent to a real server with its
database. Holds when nothing is answered with a 500, everything is answered, and the server's memory
has not grown in the second half of the bodies. Each parser of strangers' texts is given texts that
repeat themselves: holds when a character costs about as much in a long one as in one of an eighth
of its length.
"""

import argparse
import collections
import http.client
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from scripts.progress import Progress
from scripts.proofs.idle import own_mib
from tests.faults.serving import made_account
from tests.rookery_process import RookeryProcess, run_rookery
from tests.slow_texts import GROWTH, PARSERS, Parser, chance_shapes, plain_shapes, too_steep
from tests.submissions import SPRT, body
from tests.wire.worker.farm import PATHS, worker_info
from tests.wire.worker.test_hostility import bodies

USER = "wanda"
PASSWORD = "correct horse battery"
PLACEHOLDER = b"61" + b"0" * 22
EXPECTED = {200, 400, 401, 413, 429}
PARTS = 4
"""The number of parts of the bodies whose memory is compared: caches and uncollected garbage still
grow during the first half."""
MOST_GROWTH = 1.1
LEAST_BODIES = 2000
"""The least number of bodies for a statement about memory, because caches still grow before."""
ENDLESS = "/api/v1/events"
SHORT = 4_000
"""The length of the shorter of two compared texts, in characters."""
FLOOR_SECONDS = 0.05
ENDLESS_SECONDS = 60.0


class Caller:
    """A kept connection whose client address changes, so that it is not throttled for long."""

    def __init__(self, port: int, token: str) -> None:
        self.token = token
        self.run = b""
        self.sent = 0
        self.statuses: collections.Counter[int] = collections.Counter()
        self.slowest = 0.0
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def post(self, path: str, data: bytes, **headers: str) -> bytes:
        self.sent += 1
        client = f"10.{self.sent >> 16 & 255}.{self.sent >> 8 & 255}.{self.sent & 255}"
        began = time.monotonic()
        self._line.request("POST", path, data, {"x-forwarded-for": client, **headers})
        answer = self._line.getresponse()
        said = answer.read()
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.statuses[answer.status] += 1
        return said

    def seat(self) -> None:
        """Creates a run, and a task of it for the worker that sends the bodies."""
        shown = {"authorization": f"Bearer {self.token}"}
        made = self.post("/api/v1/runs", json.dumps(body(sprt=SPRT)).encode(), **shown)
        self.run = json.loads(made)["id"].encode()
        said = {"password": PASSWORD, "worker_info": worker_info()}
        assert b'"task_id"' in self.post("/api/request_task", json.dumps(said).encode())
        self.statuses.clear()


def many(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def bombard(caller: Caller, path: str, count: int) -> None:
    @many(count)
    @given(bodies())
    def send(data: bytes) -> None:
        caller.post(f"/api/{path}", data.replace(PLACEHOLDER, caller.run))

    send()


def explore(server: RookeryProcess, token: str, count: int) -> int:
    """Makes random calls from the OpenAPI description; returns the number of operations."""
    document = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    headers, operations = {"Authorization": f"Bearer {token}"}, 0
    described = [*document.include(path_regex="^/api/v1").get_all_operations()]
    told = Progress(len(described), "operations of the JSON API")
    for number, found in enumerate(described, 1):
        assert isinstance(found, Ok)
        operation = found.ok()
        if operation.path == ENDLESS:
            continue
        operations += 1

        @many(count)
        @given(operation.as_strategy())
        def call(case: "schemathesis.Case[Any]") -> None:
            case.call_and_validate(
                timeout=30, headers=headers, excluded_checks=[positive_data_acceptance]
            )

        call()
        told.tell(number)
    return operations


def give_up(*_: object) -> None:
    raise TimeoutError


def slow_shapes(parser: Parser, count: int, seed: int) -> tuple[int, list[str]]:
    """The number of texts that the parser got, and those that took too long."""
    shapes = [*plain_shapes(parser), *chance_shapes(parser, count, seed)]
    slow = []
    for shape in shapes:
        signal.setitimer(signal.ITIMER_REAL, ENDLESS_SECONDS)
        try:
            ratio = too_steep(parser, shape, SHORT, FLOOR_SECONDS)
        except TimeoutError:
            slow.append(f"{shape} took more than {ENDLESS_SECONDS:.0f} s")
        except Exception as error:  # noqa: BLE001 - whatever is no refusal is a fault of the parser
            slow.append(f"{shape} raised {error!r:.200}")
        else:
            slow += [f"{shape} costs {ratio:.1f} times as much a character"] if ratio else []
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return len(shapes), slow


def try_parsers(count: int, seed: int) -> list[str]:
    """Tries all parsers; returns sentences about those that fail."""
    signal.signal(signal.SIGALRM, give_up)
    wrong, told = [], Progress(len(PARSERS), "parsers")
    print("| parser | texts | CPU s |\n|---|---|---|")
    for number, parser in enumerate(PARSERS, 1):
        began = time.process_time()
        tried, slow = slow_shapes(parser, count, seed)
        print(f"| {parser.name} | {tried:,} | {time.process_time() - began:.1f} |")
        wrong += [f"{parser.name}: {sentence}" for sentence in slow]
        told.tell(number)
    print(
        f"\nTexts of {SHORT:,} and {GROWTH * SHORT:,} characters; too dear: {len(wrong)}."
        f" Seed {seed}.\n"
    )
    return wrong


def prove(server: RookeryProcess, token: str, chosen: argparse.Namespace) -> int:
    caller = Caller(urlsplit(server.address).port or 0, token)
    caller.seat()
    began, pid = time.monotonic(), server.process.pid
    memory, told = [], Progress(PARTS * len(PATHS), "portions of bodies")
    for part in range(PARTS):
        for number, path in enumerate(PATHS, 1):
            bombard(caller, path, max(1, chosen.bodies // PARTS))
            told.tell(part * len(PATHS) + number, f"{caller.sent:,} bodies")
        memory.append(own_mib(pid))
    before, after = memory[PARTS // 2 - 1], memory[-1]
    operations = explore(server, token, chosen.calls)
    failed = [one for one in server.events() if one["event"] == "request_failed"]
    strange = {status: n for status, n in caller.statuses.items() if status not in EXPECTED}
    print("| status | answers |\n|---|---|")
    for status, number in sorted(caller.statuses.items()):
        print(f"| {status} | {number:,} |")
    print(
        f"\n{chosen.bodies:,} bodies for each of {len(PATHS)} endpoints, slowest answer"
        f" {caller.slowest:.2f} s; {chosen.calls} calls of each of {operations} operations of the"
        f" JSON API.\nFailed requests: {len(failed)}. Memory of the server after each quarter:"
        f" {', '.join(f'{each:.1f}' for each in memory)} MiB.\n{time.monotonic() - began:.0f} s"
    )
    for one in failed[:5]:
        print(one, file=sys.stderr)
    grew = chosen.bodies >= LEAST_BODIES and after > MOST_GROWTH * before
    wrong = {"requests failed": failed, f"unexpected answers: {strange}": strange, "grew": grew}
    for words in (words for words, is_so in wrong.items() if is_so):
        print(f"does not hold: {words}", file=sys.stderr)
    return 1 if any(wrong.values()) else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove fuzz", description=__doc__)
    parser.add_argument("--bodies", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--texts", type=int, default=500, help="by chance, for each parser")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    slow = try_parsers(chosen.texts, chosen.seed)
    for sentence in slow:
        print(f"does not hold: {sentence}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        account = made_account(data, USER, PASSWORD)
        near = {"ROOKERY_TRUSTED_PROXIES": "127.0.0.1"}
        with run_rookery(data, "serve", detect=False, settings=near) as server:
            server.until("ready")
            return prove(server, account.token, chosen) or bool(slow)


if __name__ == "__main__":
    sys.exit(main())
