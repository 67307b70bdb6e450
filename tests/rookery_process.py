"""Real `rookery` processes for tests, on a data folder of the test's own."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
COMMAND = (sys.executable, "-m", "rookery.cli.main")
LIMIT_SECONDS = 60.0
# The whole suite can be run on the other HTTP server.
PASSED_ON = frozenset({"ROOKERY_HTTP"})
# For servers whose workers make their results up.
SIMULATED = {"ROOKERY_SIMULATED_FLEET": "1"}


class RookeryProcess:
    """A server process whose log is read as events; it is killed when the test is left."""

    def __init__(
        self,
        words: Sequence[str],
        data: Path,
        command: Sequence[str] = COMMAND,
        *,
        detect: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data
        data.parent.mkdir(parents=True, exist_ok=True)
        self._log = data.parent / f"{data.name}-{time.monotonic_ns()}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, words[0], "--port=0", f"--data={data}", "--log-format=json", *words[1:]],
                cwd=PROJECT,
                env=environment(detect=detect) | dict(settings or {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def events(self) -> list[dict[str, object]]:
        lines = self._log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def until(self, event: str, count: int = 1) -> dict[str, object]:
        """The event, once it was logged that many times; fails when the process ends before."""
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
        """What blocked its loop. One long callback alone is no proof: see tests/detection.py."""
        found = [one for one in self.events() if one["event"] == "loop_violation"]
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
        """Kill it, and read no more of what it says."""
        self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(LIMIT_SECONDS)

    def said(self) -> str:
        """All of standard output; call it after the end."""
        assert self.process.stdout is not None
        return self.process.stdout.read()

    def complaint(self) -> str:
        """The last line on stderr, after it ended by itself."""
        self.process.wait(LIMIT_SECONDS)
        return self._log.read_text().splitlines()[-1]


def environment(*, detect: bool = True) -> dict[str, str]:
    """This process's, with our sources and without settings, but for two that tests choose."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ROOKERY_") or k in PASSED_ON}
    paths = os.pathsep.join((str(PROJECT / "src"), str(PROJECT)))
    # Nothing is fetched from outside, and no start waits for it.
    fixed = {"PYTHONPATH": paths, "ROOKERY_FRONT_END": "0", "ROOKERY_BOOKS_REPOSITORY": "off"}
    return kept | fixed | {"ROOKERY_DETECT_BLOCKING": str(int(detect))}


@contextmanager
def run_rookery(
    data: Path,
    *words: str,
    command: Sequence[str] = COMMAND,
    detect: bool = True,
    settings: Mapping[str, str] | None = None,
) -> Iterator[RookeryProcess]:
    process = RookeryProcess(words or ("serve",), data, command, detect=detect, settings=settings)
    try:
        yield process
    finally:
        process.end()
