"""The worker that `rookery up` starts beside its server: its token, its process, its end."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rookery.cli.worker_keeper import FIRST_DELAY, LONG_LIFE, LONGEST_DELAY, how
from rookery.people.bearers import Bearer
from rookery.people.users import ORDINARY, Scope, User, is_approver
from rookery.web.site import Site
from rookery.web.v1.submissions import prepare_run

KEPT_IN = "local-worker.token"
FOLDER = "worker"
LOG = "worker.log"
NOTE = "the local worker of rookery up"
GRACE_SECONDS = 1
LEAVE_SECONDS = 6.0


async def provide_token(site: Site, data: Path) -> Path | None:
    """A file with a token of an administrator's own; None where nobody is one."""
    file = data / KEPT_IN
    written = await site.threads.io(_read, file)
    name, _, secret = written.partition(":")
    if secret and await site.bearers.owner(secret) == name:
        return file
    owner = await _owner(site)
    if owner is None:
        return None
    minted = await site.accounts.create_token(owner, frozenset({Scope.WORKER}), note=NOTE)
    await site.threads.io(_write, file, f"{owner}:{minted.secret}")
    return file


async def _owner(site: Site) -> str | None:
    """The first of those who may approve runs."""
    people = await site.users.everyone()
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
    """A worker with a keeper: it never outlives this process, and is started again when it or the
    keeper dies, which `tell` hears of. Its methods block."""

    data: Path
    concurrency: str
    tell: Callable[[str], object] = print
    without_sandbox: bool = False
    _keeper: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _leaving: threading.Event = field(default_factory=threading.Event, init=False)

    @property
    def log(self) -> Path:
        return self.data / FOLDER / LOG

    def start(self, address: str, token: Path) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        keeper = (sys.executable, "-m", "rookery.cli.worker_keeper", str(self.log))
        line = (*keeper, *self._line(address, token))
        threading.Thread(target=self._keep, args=(line,), name="local worker", daemon=True).start()

    def stop(self) -> None:
        """The worker gives its task back and ends, while the server still answers."""
        self._leaving.set()
        with self._lock:
            keeper, self._keeper = self._keeper, None
        if keeper is None or keeper.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            keeper.stdin.write(b".")
            keeper.stdin.flush()
        try:
            keeper.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()
        with contextlib.suppress(BrokenPipeError):
            keeper.stdin.close()

    def _keep(self, line: Sequence[str]) -> None:
        """In a thread, until the end: relays what the keeper says, and starts it anew."""
        delay = FIRST_DELAY
        while (keeper := self._launched(line)) is not None:
            began = time.monotonic()
            assert keeper.stdout is not None
            with keeper.stdout as said:
                for sentence in said:
                    self.tell(sentence.decode(errors="replace").strip())
            code = keeper.wait()
            delay = FIRST_DELAY if time.monotonic() - began > LONG_LIFE else 2 * delay
            delay = min(delay, LONGEST_DELAY)
            if self._leaving.is_set():
                return
            again = f"it is started again in {delay:.0f} s"
            self.tell(f"The worker's keeper ended {how(code)}; {again}.")
            self._leaving.wait(delay)

    def _launched(self, line: Sequence[str]) -> "subprocess.Popen[bytes] | None":
        """None where it is time to leave."""
        with self._lock:
            if self._leaving.is_set():
                return None
            self._keeper = subprocess.Popen(
                line,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl-C in the terminal is for the server, which then says when to leave.
                start_new_session=True,
            )
            return self._keeper

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
            # Whoever starts a server here may have its sources here.
            "--allow-private-sources",
            *(("--without-sandbox",) if self.without_sandbox else ()),
        )


# The first test of a new installation: the bundled engine against a weakened copy of itself.
#
# It is made so that it is decided within a few minutes on two cores: the base plays any legal move
# in three of a hundred positions, which costs it some hundred Elo, the bounds are wide, and each
# pair of games is reported at once.

BENCH = "30939"
"""What Fledgling counts on every machine."""
SUBMISSION = {
    "new_engine": "Fledgling",
    "base_engine": "Fledgling",
    "new_tag": "careful",
    "base_tag": "careless",
    "resolved_new": "0" * 40,
    "resolved_base": "0" * 40,
    "new_signature": BENCH,
    "base_signature": BENCH,
    "tests_repo": "https://example.org/fledgling",
    "new_options": "Hash=16 NodeNoise=30 Seed=1",
    "base_options": "Hash=16 NodeNoise=30 Seed=2 Blunder=3",
    "tc": "N=200",
    "book": "rookery-demo.epd",
    "num_games": 4000,
    "sprt": {"elo0": 0, "elo1": 30, "batch_size": 1},
    "info": "A first look: does not blundering gain Elo? (It should.)",
}


async def begin_demo(site: Site, owner: User) -> str:
    """The id of the run, which is approved and may be played at once."""
    bearer = Bearer(owner, ORDINARY)
    made = await prepare_run(site, msgspec.json.encode(SUBMISSION), bearer)
    await site.fleet.commands.submit(made.run, approver=owner.name)
    return made.run.id
