"""The C core under the address and undefined-behaviour sanitizers, machine and sockets alike."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import ROOT

FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"
MACHINE = (
    "head", "chunked", "frames", "scopes", "requests", "bodies", "responses", "ws_messages",
    "ws_session", "extensions", "own_fields",
)  # fmt: skip
SOCKETS = (
    "requests_share_a_connection",
    "leaves_with_requests_waiting",
    "tls_serves",
    "sigterm_lets",
    "download_waits",
    "drips",
    "open_streams",
    "closes_the_file",
    "becomes_shorter",
    "may_have_a_certificate",
    "side_by_side",
)


def digest() -> str:
    """Changes when anything changes that goes into the build."""
    seen = hashlib.sha256(FLAGS.encode() + sys.version.encode())
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix in (".c", ".h", ".py"):
            seen.update(path.read_bytes())
    return seen.hexdigest()[:16]


@pytest.fixture(scope="session")
def sanitized() -> dict[str, str]:
    """An environment in which the package has a sanitized core; the build is kept between runs."""
    folder = ROOT / ".cache" / f"sanitized-{digest()}"
    if not (folder / "done").exists():
        for old in (ROOT / ".cache").glob("sanitized-*"):
            shutil.rmtree(old)
        build(folder)
        (folder / "done").touch()
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return {
        **os.environ,
        "PYTHONPATH": f"{folder}:{ROOT}",
        "LD_PRELOAD": runtime.stdout.strip(),
        # the interpreter itself leaks by design; its allocator would hide mistakes of ours
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
    }


def build(folder: Path) -> None:
    work = folder / "work"
    shutil.copytree(ROOT / "src", work / "src", ignore=shutil.ignore_patterns("*.so", "*.egg-info"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, work / name)
    environment = {
        **os.environ,
        "ROOKERY_ASGI_CFLAGS": FLAGS,
        "ROOKERY_ASGI_LDFLAGS": "-fsanitize=address,undefined",
        "ROOKERY_ASGI_REQUIRE_CORE": "1",
    }
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build", "--build-lib", str(folder)],
        cwd=work,
        env=environment,
        check=True,
        capture_output=True,
    )


def run_tests(environment: dict[str, str], *arguments: str) -> str:
    """Run part of the tests; the sanitized core must be the one that is used."""
    where = subprocess.run(
        [sys.executable, "-c", "import rookery_asgi._core as c; print(c.__file__)"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    assert "sanitized-" in where.stdout
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.timeout(600)
def test_the_machine_is_clean(sanitized: dict[str, str]) -> None:
    assert run_tests(sanitized, *(f"tests/test_{name}.py" for name in MACHINE)) == ""


@pytest.mark.timeout(600)
def test_the_sockets_are_clean(sanitized: dict[str, str]) -> None:
    names = ("serving", "flow", "timeouts", "stopping", "tls", "files", "binds")
    files = (f"tests/test_{name}.py" for name in names)
    assert run_tests(sanitized, *files, "-k", " or ".join(SOCKETS)) == ""
