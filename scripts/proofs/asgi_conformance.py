#!/usr/bin/env python3
"""Holds rookery-asgi against cases that others wrote.

Usage: asgi_conformance.py [--only vectors,lifespan,...] [--wstest PATH] [--cases '1.*,12.3.*']

h11's and http-parser's requests, asgi-lifespan's applications, Starlette's tests over sockets, and
Autobahn's WebSocket cases. They are fetched from the package index into a temporary folder.
Autobahn's client needs Python 2 with autobahntestsuite: its `wstest` is taken from the PATH or from
--wstest, and its cases are left out where there is none. Each part runs in a process of its own and
has its own time; the others go on when one fails. Exit 0 when nothing failed.
"""

import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import types
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CASES = HERE / "asgi_cases"
ASGI = HERE.parents[1] / "asgi"
sys.path[:0] = [str(ASGI), str(CASES)]


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

    Its tests are about the interface of its own manager, so only the applications are taken.
    """
    source = fetch("asgi-lifespan", folder)
    sys.modules.setdefault("trio", types.ModuleType("trio"))
    spec = importlib.util.spec_from_file_location(
        "lifespan_cases",
        source / "tests/__init__.py",
        submodule_search_locations=[str(source / "tests")],
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
    source, more = fetch("starlette", folder), folder / "more"
    # its newer test client is built on a package that nothing else here needs
    install = [sys.executable, "-m", "pip", "install", "-q", "--target", str(more), "httpx2"]
    subprocess.run(install, check=True, capture_output=True)
    shutil.copy(CASES / "asgi_starlette_plugin.py", source)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-r", "fE", "-p", "asgi_starlette_plugin", "-p",
         "no:cacheprovider", "-W", "ignore", "-c", "/dev/null", "--rootdir", str(source),
         "-k", "not trio", "--ignore", str(source / "tests/middleware/test_opentelemetry.py"),
         *(str(source / "tests" / name) for name in STARLETTE_FILES)],
        cwd=source, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": f"{source}:{ASGI}:{more}", "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    sent = int(next((one.split()[-1] for one in lines if one.startswith(SENT)), "0"))
    print("starlette:", lines[-1] if lines else done.stderr[-300:], f"({sent} requests)")
    failed = [line for line in lines if line.startswith(("FAILED tests", "ERROR tests"))]
    surprising = [line for line in failed if not any(name in line for name in STARLETTE_KNOWN)]
    for name, reason in STARLETTE_KNOWN.items():
        print(f"  {sum(name in line for line in failed)} x {name}: {reason}")
    for line in surprising:
        print(" ", line)
    if sent < LEAST_SENT:
        print(done.stdout[-3000:], file=sys.stderr)
    return sent >= LEAST_SENT and not surprising


SENT = "requests over sockets:"
LEAST_SENT = 500
STARLETTE_FILES = (
    "test_responses.py", "test_requests.py", "test_routing.py", "test_staticfiles.py",
    "test_formparsers.py", "test_endpoints.py", "test_background.py", "test_exceptions.py",
    "test_authentication.py", "middleware",
)  # fmt: skip
STARLETTE_KNOWN = {
    "test_response_phrase": "a status below 200 can't end a response",
    "trailers": "the trailers extension is not offered",
    "push_promise": "the push extension is not offered",
    "test_request_headers": "expects the codings of another client",
    "test_force_500": "expects an empty body; ours says what happened",
    "unreliable_content_length": "the client can't lie about its length over a real socket",
    "invalid_dir_permissions": "fails for root",
}


# --- parts


def check_vectors(folder: Path) -> bool:
    """Request heads, as two other parsers read them."""
    from asgi_vectors import check_h11, check_http_parser

    same = check_h11(fetch("h11", folder))
    return check_http_parser(fetch("httptools", folder)) and same


def check_websockets(folder: Path, given: argparse.Namespace) -> bool:
    """Autobahn's cases, where its client is at hand."""
    from asgi_autobahn import check_autobahn

    if given.wstest:
        return check_autobahn(folder, given.wstest, given.cases.split(","))
    print("autobahn: not run, for its client wstest is not on the PATH")
    return True


PART_SECONDS = {"vectors": 180, "lifespan": 180, "starlette": 600, "autobahn": 5400}


def check(part: str, given: argparse.Namespace) -> bool:
    """One part, in this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        match part:
            case "vectors":
                return check_vectors(folder)
            case "lifespan":
                return check_lifespan(folder)
            case "starlette":
                return check_starlette(folder)
            case _:
                return check_websockets(folder, given)


def check_in_time(part: str) -> bool:
    """One part in a process of its own, which ends with all that it started."""
    began, seconds = time.monotonic(), PART_SECONDS[part]
    command = [sys.executable, "-u", *sys.argv, "--part", part]
    child = subprocess.Popen(command, start_new_session=True)
    try:
        good = child.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        print(f"{part}: not done after {seconds} s", flush=True)
        good = False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    print(f"{part}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return good


def main() -> int:
    """Run the parts that were asked for."""
    from asgi_autobahn import GROUPS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PART_SECONDS))
    parser.add_argument("--part", choices=PART_SECONDS, help="that one, in this process")
    parser.add_argument("--wstest", default=shutil.which("wstest") or "")
    parser.add_argument("--cases", default=",".join(GROUPS))
    given = parser.parse_args()
    if given.part:
        return 0 if check(given.part, given) else 1
    began = time.monotonic()
    failed = [part for part in given.only.split(",") if not check_in_time(part)]
    outcome = f"FAILED: {', '.join(failed)}" if failed else "holds"
    print(f"{outcome} after {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
