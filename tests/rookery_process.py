"""Real `rookery` processes for tests, on a data folder of the test's own."""

import atexit
import json
import os
import shutil
import signal
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from rookery.server.db.embedded.folder import Layout
from tests.forks import PYTHON, may_fork, run_forked, start_process
from tests.places import IMPORTED

COMMAND = (*PYTHON, "rookery.cli.main")
LIMIT_SECONDS = 60.0
# Half of the files of a new cluster belong to databases that serve as templates.
SMALLER = """
UPDATE pg_database SET datistemplate = false;
DROP DATABASE template0;
DROP DATABASE template1;
CHECKPOINT;
"""
# Variables passed on to servers: the whole suite can run on the other HTTP server, and with files
# in S3.
PASSED_ON = frozenset({"ROOKERY_HTTP", "ROOKERY_FILES_URL"})
# Settings for servers whose workers are simulated.
SIMULATED = {"ROOKERY_SIMULATED_FLEET": "1"}


class RookeryProcess:
    """A server process whose log is read as events; it is killed when the test ends."""

    def __init__(
        self,
        words: Sequence[str],
        data: Path,
        command: Sequence[str] = COMMAND,
        *,
        detect: bool = True,
        settings: Mapping[str, str] | None = None,
        first: bool = False,
    ) -> None:
        self.data = data
        data.parent.mkdir(parents=True, exist_ok=True)
        surroundings = environment(detect=detect) | dict(settings or {})
        if not first and tuple(command) == COMMAND and may_fork(command, surroundings):
            place_data(data, settings)
        self._log = data.parent / f"{data.name}-{time.monotonic_ns()}.log"
        given = [words[0], "--port=0", f"--data={data}", "--log-format=json", *words[1:]]
        with self._log.open("wb") as log:
            self.process = start_process([*command, *given], env=surroundings, stderr=log)

    def events(self) -> list[dict[str, object]]:
        lines = self._log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def logged_bytes(self) -> int:
        return self._log.stat().st_size

    def until(self, event: str, count: int = 1) -> dict[str, object]:
        """Waits until the event was logged `count` times and returns it; fails if the process ends
        before."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            ended = self.process.poll()
            found = [one for one in self.events() if one["event"] == event]
            if len(found) >= count:
                return found[count - 1]
            assert ended is None, f"ended with {ended}: {self._log.read_text()}"
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.02)

    def blockages(self) -> list[dict[str, object]]:
        """The blockages of its loop. A single long callback is no proof (see tests/detection.py),
        and blockages before the server is ready delay nobody."""
        events = self.events()
        ready = next((place for place, one in enumerate(events) if one["event"] == "ready"), 0)
        found = [
            one
            for place, one in enumerate(events)
            if one["event"] == "loop_violation"
            and (place > ready or one["kind"] != "long callback")
        ]
        callbacks = Counter(one["what"] for one in found if one["kind"] == "long callback")
        return [one for one in found if callbacks.get(one["what"]) != 1]

    @property
    def address(self) -> str:
        return str(self.until("ready")["address"])

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.address + path, timeout=LIMIT_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Kills the process, and stops reading its output."""
        self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(LIMIT_SECONDS)

    def said(self) -> str:
        """All of standard output; to be called after the end."""
        assert self.process.stdout is not None
        return self.process.stdout.read()

    def complaint(self) -> str:
        """The last line of stderr, after the process has ended by itself."""
        self.process.wait(LIMIT_SECONDS)
        return self._log.read_text().splitlines()[-1]


def environment(*, detect: bool = True) -> dict[str, str]:
    """The environment for servers: this process's, with our sources and without settings, except
    those that tests may choose."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ROOKERY_") or k in PASSED_ON}
    # Nothing is fetched from the internet, so no start waits for it.
    fixed = {"PYTHONPATH": IMPORTED, "ROOKERY_FRONT_END": "0", "ROOKERY_BOOKS_REPOSITORY": "off"}
    fixed |= {"ROOKERY_GITHUB_API": "http://127.0.0.1:1"}
    return kept | fixed | {"ROOKERY_DETECT_BLOCKING": str(int(detect))}


def place_data(data: Path, settings: Mapping[str, str] | None = None) -> None:
    """Copies a migrated database into an empty data folder, because creating one takes seconds."""
    if not data.exists() and "ROOKERY_DATABASE_URL" not in (settings or {}):
        copy_data(_migrated(), data)


def copy_data(source: Path, data: Path) -> None:
    """Copies a data folder that no server uses, without the files that identify its last server."""
    layout = Layout(source)
    of_a_server = shutil.ignore_patterns(layout.lock.name, layout.address.name, layout.socket.name)
    shutil.copytree(source, data, ignore=of_a_server)


@cache
def _migrated() -> Path:
    data = scratch_folder() / "migrated"
    for words, typed in ((("migrate",), ""), (("shell",), SMALLER)):
        command = [*COMMAND, "db", *words, f"--data={data}"]
        done = run_forked(command, env=environment(), typed=typed)
        assert done.returncode == 0, done.stderr
    # WAL segments after the first are empty and created when needed; each would be 16 MB to copy.
    for spare in sorted((Layout(data).cluster / "pg_wal").glob("0*"))[1:]:
        spare.unlink()
    return data


@cache
def scratch_folder() -> Path:
    """A temporary folder that all tests of a run share."""
    folder = tempfile.mkdtemp(prefix="rookery-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@contextmanager
def run_rookery(
    data: Path,
    *words: str,
    command: Sequence[str] = COMMAND,
    detect: bool = True,
    settings: Mapping[str, str] | None = None,
    first: bool = False,
) -> Iterator[RookeryProcess]:
    """Runs a server. On an empty data folder it gets a copy of a migrated database, unless `first`
    is set."""
    line = words or ("serve",)
    process = RookeryProcess(line, data, command, detect=detect, settings=settings, first=first)
    try:
        yield process
    finally:
        process.end()
