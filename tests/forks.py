"""Starts processes of tests that have Rookery imported already: see tests/fork_server.py.

Tests of how a process starts, or that find it by its command line or wait for it as its parent,
need a real one.
"""

import atexit
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, CompletedProcess, Popen, TimeoutExpired
from typing import IO, Any

from tests.places import IMPORTED, PROJECT

PYTHON = (sys.executable, "-m")
LONGEST_ANSWER = 16


class Fork:
    """A forked process with the interface of subprocess.Popen; its pipes carry text."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path = PROJECT,
        stdin: int | IO[Any] = DEVNULL,
        stdout: int | IO[Any] = DEVNULL,
        stderr: int | IO[Any] | None = None,
    ) -> None:
        assert tuple(command[:2]) == PYTHON
        self.args = command
        self.returncode: int | None = None
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        given: list[int] = []
        try:
            given.append(self._input(stdin))
            given.append(self._output(stdout))
            given.append(os.dup(given[1]) if stderr == STDOUT else self._output(stderr))
            request = json.dumps((command[2], command[3:], str(cwd), dict(env))).encode()
            self._answers, asker = socket.socketpair(type=socket.SOCK_SEQPACKET)
            with asker:
                socket.send_fds(requests(), [request], [*given, asker.fileno()])
        finally:
            for file in given:
                os.close(file)
        self.pid = int(self._answers.recv(LONGEST_ANSWER))

    def _input(self, wanted: int | IO[Any]) -> int:
        if wanted != PIPE:
            return _duplicate(wanted)
        reader, writer = os.pipe()
        self.stdin = os.fdopen(writer, "w")
        return reader

    def _output(self, wanted: int | IO[Any] | None) -> int:
        if wanted != PIPE:
            return _duplicate(wanted)
        reader, writer = os.pipe()
        self.stdout = os.fdopen(reader)
        return writer

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise TimeoutExpired(self.args, timeout or 0)
        return code

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and self._has_answer(seconds):
            with self._answers:
                self.returncode = int(self._answers.recv(LONGEST_ANSWER))
        return self.returncode

    def _has_answer(self, seconds: float | None) -> bool:
        # Not `select`: a proof with a thousand streams has descriptors beyond its limit.
        waiting = select.poll()
        waiting.register(self._answers, select.POLLIN)
        return bool(waiting.poll(None if seconds is None else 1000 * seconds))

    def send_signal(self, number: int) -> None:
        """Sends a signal; does nothing to a process that has ended, whether or not we know of its
        end yet."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def may_fork(command: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a fork would behave the same: for a module of the sources that the fork server has
    imported, and only within tests. Proofs and benchmarks measure processes as people start
    them."""
    of_ours = env.get("PYTHONPATH", IMPORTED) == IMPORTED
    return tuple(command[:2]) == PYTHON and of_ours and "PYTEST_CURRENT_TEST" in os.environ


def start_process(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    stdin: int = DEVNULL,
    stderr: int | IO[Any] | None = None,
) -> "Fork | Popen[str]":
    """Starts a process whose standard output is a pipe; it is forked if that makes no
    difference."""
    if may_fork(command, env):
        return Fork(command, env=env, stdin=stdin, stdout=PIPE, stderr=stderr)
    return Popen(command, cwd=PROJECT, env=env, stdin=stdin, stdout=PIPE, stderr=stderr, text=True)


def run_forked(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path = PROJECT, typed: str = ""
) -> "CompletedProcess[str]":
    """Runs a process to its end and returns its output, like subprocess.run."""
    with (
        tempfile.TemporaryFile() as said,
        tempfile.TemporaryFile() as complained,
        tempfile.TemporaryFile() as read,
    ):
        read.write(typed.encode())
        read.seek(0)
        fork = Fork(command, env=env, cwd=cwd, stdin=read, stdout=said, stderr=complained)
        code = fork.wait()
        for file in (said, complained):
            file.seek(0)
        return CompletedProcess(command, code, said.read().decode(), complained.read().decode())


@cache
def requests() -> socket.socket:
    """A socket to a fork server, which ends together with this process."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        server = Popen(
            [*PYTHON, "tests.fork_server", str(theirs.fileno())],
            cwd=PROJECT,
            env=os.environ | {"PYTHONPATH": IMPORTED},
            stdin=DEVNULL,
            stdout=DEVNULL,
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _duplicate(wanted: int | IO[Any] | None) -> int:
    if wanted is None:
        return os.dup(2)
    if wanted == DEVNULL:
        return os.open(os.devnull, os.O_RDWR)
    return os.dup(wanted if isinstance(wanted, int) else wanted.fileno())
