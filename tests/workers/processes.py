"""Real `rookery worker` processes."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.served import COMMAND, LIMIT_SECONDS, PROJECT, environment


class Working:
    """A worker process; killed when the test is left."""

    def __init__(self, server: str, folder: Path, *words: str, user: str = "olga") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        secret = folder / "password"
        if not secret.exists():
            secret.write_text("correct horse battery staple\n")
        self.cache = folder / "cache"
        self._log = folder / "worker.log"
        command = [*COMMAND, "worker", f"--server={server}", f"--username={user}"]
        more = [f"--password-file={secret}", f"--cache={self.cache}", "--concurrency=1"]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *more, "--retry-seconds=0.2", "--no-update", *words],
                cwd=PROJECT,
                env=environment() | {"XDG_CONFIG_HOME": str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def said(self) -> str:
        return self._log.read_text()

    def ended(self) -> int:
        return self.process.wait(LIMIT_SECONDS)

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def working(server: str, folder: Path, *words: str, user: str = "olga") -> Iterator[Working]:
    worker = Working(server, folder, *words, user=user)
    try:
        yield worker
    finally:
        worker.kill()
