"""Real `rookery worker` processes."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.commands import PASSWORD
from tests.forks import Fork
from tests.process_table import command_line_of, parent_of, pids
from tests.rookery_process import COMMAND, LIMIT_SECONDS, environment

DEEPEST = 6
PRIVATE = ("--allow-private-sources",)
"""Tests have their sources on this machine."""


class WorkerProcess:
    """A worker process; killed when the test is left."""

    def __init__(self, server: str, folder: Path, *words: str, user: str = "olga") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        secret = folder / "password"
        if not secret.exists():
            secret.write_text(f"{PASSWORD}\n")
        self.cache = folder / "cache"
        self._log = folder / "worker.log"
        command = [*COMMAND, "worker", f"--server={server}", f"--username={user}"]
        more = [f"--password-file={secret}", f"--cache={self.cache}", "--concurrency=1"]
        with self._log.open("ab") as log:
            self.process = Fork(
                [*command, *more, "--retry-seconds=0.2", "--no-update", *PRIVATE, *words],
                env=environment() | {"XDG_CONFIG_HOME": str(folder)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def said(self) -> str:
        return self._log.read_text()

    def ended(self) -> int:
        return self.process.wait(LIMIT_SECONDS)

    def family(self) -> dict[int, str]:
        """The processes it started, and theirs, with their words."""
        found = {self.process.pid: ""}
        for _ in range(DEEPEST):
            found |= {pid: command_line_of(pid) for pid in pids() if parent_of(pid) in found}
        del found[self.process.pid]
        return found

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def until(
    condition: Callable[[], bool],
    worker: WorkerProcess,
    seconds: float = LIMIT_SECONDS,
    pause: float = 0.05,
) -> None:
    """Wait for it; fails with the worker's words when it never comes. What asks a server takes
    time from those who play: then let the pauses be long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, worker.said()
        time.sleep(pause)


@contextmanager
def worker_process(
    server: str, folder: Path, *words: str, user: str = "olga"
) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(server, folder, *words, user=user)
    try:
        yield worker
    finally:
        worker.kill()
