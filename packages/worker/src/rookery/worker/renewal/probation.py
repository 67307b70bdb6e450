"""Watches a new version until it has communicated with its server once, and returns to the previous
version if the new one fails several times.

    python probation.py worker ...      what the launcher starts while a version is on probation

The copy beside the launcher is that of an older version, which has shown that it works. It needs
only Python's standard library. A failure is counted before it can happen, so that a process that
dies without a message counts too.
"""

import contextlib
import json
import os
import runpy
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import asdict, dataclass, replace
from pathlib import Path

FILE, NOTE, REFUSED = "probation", "went-back", "refused"
MOST_FAILURES = 3
PAUSE_SECONDS = 1.0
SETTLED_SECONDS = 60.0
"""A process that runs this long has not failed at its start, but waits for its server."""
INNOCENT = frozenset({0, 5, 130})
"""The exit codes of a good end, of a server at fault, and of an interrupt."""
NO_LIFE = frozenset({"configure", "doctor", "--print-systemd-unit"})


@dataclass(frozen=True)
class Probation:
    """The version on probation, and the version before it."""

    version: str
    """The name of its folder."""
    label: str
    digest: str
    before: str
    failures: int = 0


def begin_probation(root: Path, probation: Probation) -> None:
    _write(root / FILE, json.dumps(asdict(probation)))


def read_probation(root: Path) -> Probation | None:
    """Return the probation of the current version, if it is on one."""
    try:
        found = Probation(**json.loads((root / FILE).read_text(encoding="utf-8")))
        current = (root / "current").read_text(encoding="utf-8").strip()
    except (OSError, ValueError, TypeError):
        return None
    return found if found.version == current else None


def end_probation(root: Path, version: str) -> None:
    """End the probation, since this version has communicated with its server."""
    found = read_probation(root)
    if found is not None and found.version == version:
        (root / FILE).unlink(missing_ok=True)


def read_return_note(root: Path) -> str:
    """Return a sentence for the server about a version that was given up; empty if there is
    none."""
    try:
        return (root / NOTE).read_text(encoding="utf-8")
    except OSError:
        return ""


def forget_return_note(root: Path) -> None:
    """Remove the note, since the server has received it."""
    (root / NOTE).unlink(missing_ok=True)


def refuse_version(root: Path, digest: str, why: str) -> None:
    """Note that a version must not be tried again."""
    (root / REFUSED).mkdir(exist_ok=True)
    _write(root / REFUSED / digest, why)


def is_refused(root: Path, digest: str) -> bool:
    return (root / REFUSED / digest).exists()


def go_back(root: Path, given_up: Probation, why: str) -> None:
    """Make the previous version the current one."""
    if (root / "versions" / given_up.before).is_dir():
        refuse_version(root, given_up.digest, why)
        _write(root / "current", given_up.before)
        failed = f"failed {given_up.failures} times before it first reached the server"
        _write(root / NOTE, f"The worker's version {given_up.label} {failed}: {why}")
    (root / FILE).unlink(missing_ok=True)


class ProbationWatch:
    """Counts one start of a version on probation. Two threads use it, one after the other."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._counted = False
        self._lock = threading.Lock()

    def count(self, *, failed: bool) -> None:
        """Set whether this start counts as a failure."""
        with self._lock:
            found = read_probation(self._root)
            if found is not None and failed != self._counted:
                step = 1 if failed else -1
                begin_probation(self._root, replace(found, failures=found.failures + step))
                self._counted = failed


def start(root: Path, words: list[str]) -> int:
    """Run the current version. Returns the exit code if nothing more is to be started."""
    found = read_probation(root)
    if found is None or words[:1] != ["worker"] or NO_LIFE & set(words):
        return _lived(words)[0]
    if found.failures >= MOST_FAILURES:
        go_back(root, found, "it ended without a word")
        return _anew(root, words)
    watch = ProbationWatch(root)
    watch.count(failed=True)
    timer = threading.Timer(SETTLED_SECONDS, watch.count, kwargs={"failed": False})
    timer.daemon = True
    timer.start()
    code, why = _lived(words)
    watch.count(failed=code not in INNOCENT)
    return _judged(root, words, code, why)


def _judged(root: Path, words: list[str], code: int, why: str) -> int:
    """Start again after a failure, with this version or the previous one."""
    found = read_probation(root)
    if found is None or code in INNOCENT:
        return code
    if found.failures >= MOST_FAILURES:
        go_back(root, found, why)
    time.sleep(PAUSE_SECONDS)
    return _anew(root, words)


def _lived(words: list[str]) -> tuple[int, str]:
    """Run the worker. Returns its exit code, and the last line about why it ended."""
    sys.argv = ["rookery", *words]
    try:
        runpy.run_module("rookery.cli.main", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1, end.code
        return end.code or 0, f"it ended with code {end.code}"
    except BaseException as error:  # noqa: BLE001 - whatever it is, the version failed
        traceback.print_exc()
        return 1, f"{type(error).__name__}: {error}"
    return 0, ""


def _anew(root: Path, words: list[str]) -> int:
    """Start again through the launcher, which finds the right version."""
    sys.stdout.flush()
    if os.name != "nt":
        launcher = str(root / "bin" / "rookery")
        os.execv(launcher, [launcher, *words])  # noqa: S606 - our own program, without a shell
    return subprocess.run([root / "bin" / "rookery.cmd", *words], check=False).returncode


def _write(file: Path, text: str) -> None:
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


if __name__ == "__main__":
    # The folder of this file contains nothing that a version may import.
    with contextlib.suppress(ValueError):
        sys.path.remove(str(Path(__file__).parent))
    sys.exit(start(Path(__file__).resolve().parents[1], sys.argv[1:]))
