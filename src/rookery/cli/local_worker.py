"""The worker that `rookery up` starts beside its server: its token, its process, its end."""

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rookery.service.groups import is_approver
from rookery.service.tokens import Scope
from rookery.web.house import House

KEPT_IN = "local-worker.token"
FOLDER = "worker"
LOG = "worker.log"
NOTE = "the local worker of rookery up"
GRACE_SECONDS = 1
LEAVE_SECONDS = 6.0


async def provide_token(house: House, data: Path) -> Path | None:
    """A file with a token of an administrator's own; None where nobody is one."""
    file = data / KEPT_IN
    written = await house.threads.io(_read, file)
    name, _, secret = written.partition(":")
    if secret and await house.api.bearers.owner(secret) == name:
        return file
    owner = await _owner(house)
    if owner is None:
        return None
    minted = await house.api.accounts.create_token(owner, frozenset({Scope.WORKER}), note=NOTE)
    await house.threads.io(_write, file, f"{owner}:{minted.secret}")
    return file


async def _owner(house: House) -> str | None:
    """The first of those who may approve runs."""
    people = await house.users.everyone()
    return next((user.name for user in people if is_approver(user) and not user.blocked), None)


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _write(file: Path, text: str) -> None:
    """For its owner's eyes from the first moment on."""
    with contextlib.suppress(FileNotFoundError):
        file.unlink()
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as out:
        out.write(text)


@dataclass(slots=True)
class LocalWorker:
    """A worker on a tether: it never outlives this process. Its methods block."""

    data: Path
    concurrency: str
    _tether: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def log(self) -> Path:
        return self.data / FOLDER / LOG

    def start(self, address: str, token: Path) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        tether = (sys.executable, "-m", "rookery.cli.tether", str(self.log))
        self._tether = subprocess.Popen(
            [*tether, *self._line(address, token)],
            stdin=subprocess.PIPE,
            # Ctrl-C in the terminal is for the server, which then says when to leave.
            start_new_session=True,
        )

    def stop(self) -> None:
        """The worker gives its task back and ends, while the server still answers."""
        tether, self._tether = self._tether, None
        if tether is None or tether.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            tether.stdin.write(b".")
            tether.stdin.flush()
        try:
            tether.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            tether.kill()
            tether.wait()
        with contextlib.suppress(BrokenPipeError):
            tether.stdin.close()

    def _line(self, address: str, token: Path) -> tuple[str, ...]:
        return (
            sys.executable,
            "-m",
            "rookery.cli.main",
            "worker",
            f"--server={address}",
            f"--token-file={token}",
            f"--concurrency={self.concurrency}",
            f"--cache={self.data / FOLDER}",
            f"--grace={GRACE_SECONDS}",
            "--no-update",
        )
