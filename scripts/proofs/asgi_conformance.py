#!/usr/bin/env python3
"""Holds rookery-asgi against cases that others wrote: h11, http-parser, asgi-lifespan, Starlette, Autobahn.

Usage: asgi_conformance.py [--only vectors,lifespan,starlette,autobahn] [--wstest PATH] [--cases '*']

The cases are fetched from the package index and run from a temporary folder. Autobahn's client needs
Python 2 with autobahntestsuite; give its `wstest` by --wstest. Run it with the interpreter of the ASGI
server's test environment. Exit 0 when nothing failed.
"""

import argparse
import ast
import asyncio
import collections
import importlib
import importlib.util
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ASGI = Path(__file__).resolve().parents[2] / "asgi"
sys.path.insert(0, str(ASGI))


def fetch(name: str, folder: Path) -> Path:
    """The unpacked source distribution of the installed version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        wanted = f"{name}=={version(name)}"
    except PackageNotFoundError:
        wanted = name
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
         "-d", str(folder), wanted],
        check=True, capture_output=True,
    )  # fmt: skip
    archive = next(folder.glob(f"{name.replace('-', '[-_]')}-*.tar.gz"))
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return next(path for path in folder.glob(f"{name.replace('-', '[-_]')}-*") if path.is_dir())


# --- request vectors


class Tally:
    """How our answer compares with what the case expects."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.same = 0
        self.stricter: list[str] = []
        self.wrong: list[str] = []

    def report(self) -> bool:
        reasons = collections.Counter(self.stricter)
        print(f"{self.name}: {self.same} the same, {len(self.stricter)} stricter {dict(reasons)}")
        for case in self.wrong:
            print(f"  WRONG {case}")
        return not self.wrong


def why_stricter(data: bytes) -> str:
    """The rule by which we refuse what others accept; empty when there is none."""
    rules = {
        "no Host": not re.search(rb"\r?\nHost:", data, re.IGNORECASE) and b"HTTP/1.1" in data,
        "bare line feed": re.search(rb"(?<!\r)\n", data) is not None,
        "folded line": re.search(rb"\n[ \t]", data) is not None,
        "fragment in the target": b"#" in data.split(b"\n")[0],
        "CONNECT": data.startswith(b"CONNECT"),
        "target beyond ASCII": any(byte > 127 for byte in data.split(b"\r\n")[0]),
        "asterisk or other target": not re.match(rb"\S+ (/|https?://)", data),
        "unknown transfer-encoding": re.search(rb"transfer-encoding:(?! chunked\r)", data, re.I) is not None,
        "Content-Length with Transfer-Encoding": b"Content-Length" in data and b"chunked" in data,
        "control character in a value": re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", data) is not None,
        "HTTP/0.9": b" HTTP/" not in data.split(b"\r\n")[0],
        "method that is no token": re.match(rb"\S*[\"(),/:;<=>?@\[\\\]{}]\S* ", data) is not None,
    }
    return next((rule for rule, holds in rules.items() if holds), "")


def parse(data: bytes) -> Any:
    """Our parser, whole and byte by byte."""
    from rookery_asgi import _core

    whole = _core.parse_head(data, max(1, len(data)), 65536, 65536)
    assert _core.parse_head(data, 1, 65536, 65536) == whole, data
    return whole


def judge(tally: Tally, data: bytes, expected: tuple[bytes, bytes, list[tuple[bytes, bytes]]] | None) -> None:
    """`expected` is method, target and headers, or None for a request that must be refused.

    Old vectors leave Host out, which HTTP/1.1 requires; it is added so that the rest can be compared.
    """
    if expected is not None and b" HTTP/1.1\r\n" in data and not re.search(rb"\nhost:", data, re.I):
        data = data.replace(b" HTTP/1.1\r\n", b" HTTP/1.1\r\nHost: h\r\n", 1)
        expected = (*expected[:2], [(b"host", b"h"), *expected[2]])
    got = parse(data)
    refused = isinstance(got, int) and got < 0
    if expected is None:
        if refused:
            tally.same += 1
        else:
            tally.wrong.append(f"accepted {data!r}")
    elif isinstance(got, int):
        rule = why_stricter(data)
        (tally.stricter if rule else tally.wrong).append(rule or f"refused {data!r} ({got})")
    else:
        fields = [(name.lower(), value) for name, value in got[4]]
        same = (got[1], got[2], fields) == expected
        tally.same += same
        if not same:
            tally.wrong.append(f"{data!r}: {got} instead of {expected}")


def h11_cases(folder: Path) -> Iterator[tuple[bytes, Any]]:
    """What h11's own tests feed to its reader of requests; expected events, or None for a refusal."""
    sys.path.insert(0, str(fetch("h11", folder)))
    module = importlib.import_module("h11.tests.test_io")
    h11 = importlib.import_module("h11")
    collected: list[tuple[bytes, Any]] = []

    def record(reader: object, data: bytes, expected: Any) -> None:
        if reader is module.READERS[h11.CLIENT, h11.IDLE]:
            collected.append((bytes(data), expected))
        if expected is None:
            raise h11.LocalProtocolError("recorded")

    module.tr = record  # type: ignore[attr-defined] # h11's tests call it by this name
    for name in ("test_readers_simple", "test_readers_unusual", "test_reject_garbage_after_request_line",
                 "test_reject_garbage_in_header_line", "test_reject_non_vchar_in_path",
                 "test_allow_some_garbage_in_cookies"):  # fmt: skip
        getattr(module, name)()
    yield from collected


def check_h11(folder: Path) -> bool:
    """h11's cases. Its reader looks at lines before Host is checked, so Host is added where missing."""
    tally = Tally("h11 request heads")
    for data, event in h11_cases(folder):
        if event is None:
            judge(tally, data, None)
            continue
        headers = [(bytes(n).lower(), bytes(v)) for n, v in event.headers]
        judge(tally, data, (bytes(event.method), bytes(event.target), headers))
    return tally.report()


def c_strings(text: str) -> bytes:
    """Adjacent C string literals as bytes."""
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    return b"".join(ast.literal_eval(f'b"{part}"') for part in parts)


def check_http_parser(folder: Path) -> bool:
    """The requests of http-parser's test.c, which httptools carries along."""
    source = (fetch("httptools", folder) / "vendor/http-parser/test.c").read_text("latin-1")
    source = source.encode("ascii", "backslashreplace").decode()
    tally = Tally("http-parser requests")
    for block in re.split(r"\.name=", source)[1:]:
        raw = re.search(r"\.raw=\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)", block)
        if ".type= HTTP_REQUEST" not in block or raw is None:
            continue
        data = c_strings(raw.group(1))
        url = re.search(r"\.request_url=\s*\"(.*)\"", block)
        listed = block.split(".headers=")[1].split(",.body")[0] if ".headers=" in block else ""
        pairs = re.findall(r'\{\s*("(?:[^"\\]|\\.)*")\s*,\s*("(?:[^"\\]|\\.)*")\s*\}', listed)
        headers = [(c_strings(n).lower(), c_strings(v)) for n, v in pairs]
        trailers = (
            data.count(b"\r\nVary: *") + data.count(b"Content-Type: text/plain\r\n\r\n")
            if b"0\r\n" in data
            else 0
        )
        method = data.lstrip().split(b" ")[0]
        expected = (method, c_strings(f'"{url.group(1)}"') if url else b"", headers)
        if trailers:
            expected = (*expected[:2], headers[: data.split(b"\r\n\r\n")[0].count(b"\r\n")])
        judge(tally, data, expected)
    for call in re.findall(r"test_simple(?:_type)?\(\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+),\s*HPE_(\w+)", source):
        data = c_strings(call[0])
        if call[1] not in ("OK", "UNKNOWN") and not data.startswith(b"HTTP/"):
            judge(tally, data, None)
    return tally.report()


# --- lifespan

LIFESPAN_OUTCOMES = {  # takes part, stops cleanly
    "slow_startup": (False, True),
    "slow_shutdown": (True, True),
    "http_only": (False, True),
    "http_no_assert": (False, True),
    "http_no_assert_before_receive_request": (False, True),
}


def check_lifespan(folder: Path) -> bool:
    """The applications of asgi-lifespan's tests, each with the outcome the protocol asks for.

    Its tests themselves are about the interface of its own manager, so only the applications are taken.
    """
    source = fetch("asgi-lifespan", folder)
    sys.modules.setdefault("trio", types.ModuleType("trio"))
    spec = importlib.util.spec_from_file_location(
        "lifespan_cases", source / "tests/__init__.py", submodule_search_locations=[str(source / "tests")]
    )
    assert spec is not None
    sys.modules["lifespan_cases"] = importlib.util.module_from_spec(spec)
    module = importlib.import_module("lifespan_cases.test_manager")
    wrong = {}
    for name, expected in LIFESPAN_OUTCOMES.items():
        got = asyncio.run(live(getattr(module, name)))
        if got != expected:
            wrong[name] = got
    print(f"asgi-lifespan: {len(LIFESPAN_OUTCOMES) - len(wrong)} the same, wrong: {wrong}")
    return not wrong


async def live(app: Any) -> tuple[bool, bool]:
    """Start and stop; whether the application takes part, and whether it stopped cleanly."""
    from rookery_asgi.lifespan import Lifespan

    lifespan = Lifespan(app)
    await lifespan.start()
    return lifespan.takes_part, await lifespan.stop(seconds=5)


# --- Starlette


def check_starlette(folder: Path) -> bool:
    """Starlette's own tests, its test client's requests going over real sockets to our server."""
    source = fetch("starlette", folder)
    (source / "rookery_socket.py").write_text(STARLETTE_PLUGIN)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "rookery_socket", "-p", "no:cacheprovider",
         "-W", "ignore", "-c", "/dev/null", "--rootdir", str(source), "-k", "not trio",
         "--ignore", str(source / "tests/middleware/test_opentelemetry.py"), "-r", "fE",
         *(str(source / "tests" / name) for name in STARLETTE_FILES)],
        cwd=source, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": f"{source}:{ASGI}", "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    print("starlette:", lines[-1] if lines else done.stderr[-300:])
    failed = [line for line in lines if line.startswith(("FAILED tests", "ERROR tests"))]
    surprising = [line for line in failed if not any(name in line for name in STARLETTE_KNOWN)]
    for name, reason in STARLETTE_KNOWN.items():
        print(f"  {sum(name in line for line in failed)} x {name}: {reason}")
    for line in surprising:
        print(" ", line)
    return bool(lines) and " passed" in lines[-1] and not surprising


STARLETTE_FILES = ("test_responses.py", "test_requests.py", "test_routing.py", "test_staticfiles.py",
                   "test_formparsers.py", "test_endpoints.py", "test_background.py", "test_exceptions.py",
                   "test_authentication.py", "middleware")  # fmt: skip
STARLETTE_KNOWN = {
    "test_response_phrase": "a status below 200 can't end a response",
    "trailers": "the trailers extension is not offered",
    "push_promise": "the push extension is not offered",
    "test_request_headers": "expects the codings of another client",
    "test_force_500": "expects an empty body; ours says what happened",
    "unreliable_content_length": "the client can't lie about its length over a real socket",
    "invalid_dir_permissions": "fails for root",
}
STARLETTE_PLUGIN = '''
"""Sends the requests of Starlette's test client over a real socket to rookery-asgi."""
import asyncio, http.client, threading
import starlette.testclient
from starlette import testclient
httpx = testclient.httpx
from rookery_asgi.loops import new_loop
from rookery_asgi.options import Options
from rookery_asgi.server import Server

sent = {"requests": 0}

class Served:
    """One application on one port, in a thread."""
    def __init__(self, app, root_path, client, state):
        self.errors = []
        self.ready = threading.Event()
        self.app, self.client, self.state = app, client, state
        options = Options(port=0, access_log=False, lifespan="off", root_path="", server_header=False,
                          date_header=False, timeout_graceful_shutdown=0.1)
        self.root_path = root_path
        threading.Thread(target=self.run, args=(options,), daemon=True).start()
        assert self.ready.wait(10)
    async def wrapped(self, scope, receive, send):
        scope["client"] = self.client
        scope["root_path"] = self.root_path
        scope["state"] = self.state.copy()
        scope["server"] = self.server
        scope["scheme"] = self.scheme
        await self.app(scope, receive, send)
    def run(self, options):
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(self.serve(options))
    async def serve(self, options):
        self.loop = asyncio.get_running_loop()
        self.srv = Server(self.wrapped, options)
        task = asyncio.create_task(self.srv.serve())
        await self.srv.listening.wait()
        self.srv._hooks.failed = self.errors.append
        self.srv._core.close
        self.port = int(self.srv.addresses[0].rsplit(":", 1)[1])
        self.ready.set()
        await task
    def stop(self):
        self.loop.call_soon_threadsafe(self.srv.stop)

def handle(self, request):
    if request.url.scheme in ("ws", "wss"):
        return original(self, request)
    sent["requests"] += 1
    failures, finished = [], threading.Event()
    async def app(scope, receive, send):
        try:
            await self.app(scope, receive, send)
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            finished.set()
    served = Served(app, self.root_path, self.client, self.app_state)
    default = {"http": 80, "https": 443}[request.url.scheme]
    served.server = (request.url.host, request.url.port or default)
    served.scheme = request.url.scheme
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    try:
        connection.putrequest(request.method, request.url.raw_path.decode(), skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers.raw:
            connection.putheader(name, value)
        connection.endheaders()
        chunked = "transfer-encoding" in request.headers
        for part in request.stream:
            if part:
                connection.send(b"%x\\r\\n%b\\r\\n" % (len(part), part) if chunked else part)
        if chunked:
            connection.send(b"0\\r\\n\\r\\n")
        try:
            answer = connection.getresponse()
            body, status, headers = answer.read(), answer.status, answer.headers.items()
            finished.wait(10)  # Starlette's client waits for background work, too
        except (http.client.HTTPException, ConnectionError):
            body, status, headers = b"", 500, []
            finished.wait(10)
    finally:
        connection.close()
        served.stop()
    if self.raise_server_exceptions and failures:
        raise failures[0]
    return httpx.Response(status, headers=[(k.lower(), v) for k, v in headers if k != "transfer-encoding"],
                          stream=httpx.ByteStream(body), request=request)

original = testclient._TestClientTransport.handle_request
testclient._TestClientTransport.handle_request = handle

def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line("requests over sockets: %d" % sent["requests"])
'''


# --- Autobahn


def check_autobahn(folder: Path, wstest: str, cases: str) -> bool:
    """Autobahn's fuzzing client against an echo."""
    from tests.serving import serve

    with serve("tests.apps:app", "--no-access-log") as served:
        spec = {
            "outdir": str(folder / "autobahn"),
            "servers": [{"agent": "rookery-asgi", "url": f"ws://127.0.0.1:{served.port}"}],
            "cases": cases.split(","),
            "exclude-cases": [],
            "exclude-agent-cases": {},
        }
        (folder / "spec.json").write_text(json.dumps(spec))
        command = [wstest, "-m", "fuzzingclient", "-s", str(folder / "spec.json")]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
    found = json.loads((folder / "autobahn/index.json").read_text())["rookery-asgi"]
    print("autobahn:", dict(collections.Counter(case["behavior"] for case in found.values())))
    failed = [k for k, case in found.items() if "FAILED" in (case["behavior"], case["behaviorClose"])]
    for case in failed:
        print("  FAILED", case)
    return not failed


def main() -> int:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="vectors,lifespan,starlette,autobahn")
    parser.add_argument("--wstest", default="")
    parser.add_argument("--cases", default="*")
    given = parser.parse_args()
    wanted, good, began = set(given.only.split(",")), True, time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "vectors" in wanted:
            good &= check_h11(folder)
            good &= check_http_parser(folder)
        if "lifespan" in wanted:
            good &= check_lifespan(folder)
        if "starlette" in wanted:
            good &= check_starlette(folder)
        if "autobahn" in wanted and given.wstest:
            good &= check_autobahn(folder, given.wstest, given.cases)
        elif "autobahn" in wanted:
            print("autobahn: not run, --wstest was not given")
            good = False
    print(f"{'holds' if good else 'FAILED'} after {time.monotonic() - began:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
