"""Processes for fault tests: an owner of a database that can be killed, and its sessions."""

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tests.forks import PYTHON, start_process
from tests.places import IMPORTED
from tests.process_table import LIMIT_SECONDS, command_line_of, parent_of, pids, remaining_processes

OWNER = (*PYTHON, "tests.faults.owner")


class Spoken:
    """A process that reports events as lines of JSON, and ends when its input does."""

    def __init__(self, command: Sequence[str]) -> None:
        self.facts: dict[str, Any] = {}
        env = os.environ | {"PYTHONPATH": IMPORTED}
        self.process = start_process(command, env=env, stdin=subprocess.PIPE)

    def next(self) -> dict[str, Any]:
        """The next event; empty if the process has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            return {}
        said: dict[str, Any] = json.loads(line)
        self.facts |= said
        return said

    def until(self, event: str) -> dict[str, Any]:
        while said := self.next():
            if said["event"] == event:
                return said
        raise AssertionError(f"it ended before it said {event}: {self.facts}")

    def rest(self) -> list[dict[str, Any]]:
        """All remaining events until the process ended."""
        return list(iter(self.next, {}))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.rest()
        return self.process.wait(LIMIT_SECONDS)

    def end(self) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Owner(Spoken):
    """A process that opens the embedded server on a folder; see owner.py for what it can do."""

    def __init__(self, data: Path, work: str = "hold", *words: str, prefix: Sequence[str] = ()):
        self.data = data
        super().__init__([*prefix, *OWNER, str(data), work, *words])

    def __exit__(self, *_: object) -> None:
        self.end()
        wait_until_gone(self.data)


def wait_until_gone(data: Path) -> None:
    assert not (left := remaining_processes(data)), f"left behind: {left}"


def backends_of(postmaster: str) -> list[int]:
    """The sessions that clients have with a server."""
    return sorted(
        pid
        for pid in pids()
        if parent_of(pid) == int(postmaster)
        and command_line_of(pid).startswith("postgres: rookery")
    )


def kill(pid: int | str) -> None:
    try:
        os.kill(int(pid), signal.SIGKILL)
    except ProcessLookupError:
        return
