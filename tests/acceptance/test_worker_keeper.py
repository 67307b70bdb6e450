"""A command with a keeper ends with the owner, whatever it does."""

import subprocess
import sys
from pathlib import Path

from tests.places import PROJECT
from tests.process_table import remaining_processes
from tests.rookery_process import LIMIT_SECONDS, environment

POLITE = """
import signal, sys, time
def leave(*_):
    print("gave back", flush=True); sys.exit(0)
signal.signal(signal.SIGINT, leave)
print("ready", flush=True)
time.sleep(600)
"""
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{mark}"])
print("ready", flush=True)
time.sleep(600)
"""
KEEPER = (sys.executable, "-m", "rookery.server.commands.local_worker")


def kept(log: Path, program: str) -> "subprocess.Popen[bytes]":
    """With the program running."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "rookery.server.commands.local_worker",
            str(log),
            sys.executable,
            "-c",
            program,
        ],
        stdin=subprocess.PIPE,
        cwd=PROJECT,
        env=environment(detect=False),
    )
    while not log.exists() or "ready" not in log.read_text():
        assert process.poll() is None
    return process


def end(process: "subprocess.Popen[bytes]", word: bytes = b"") -> int:
    assert process.stdin is not None
    process.stdin.write(word)
    process.stdin.close()
    return process.wait(LIMIT_SECONDS)


def test_a_word_asks_for_an_orderly_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert end(kept(log, POLITE), b".") == 0
    assert log.read_text() == "ready\ngave back\n"


def test_what_ignores_signals_ends_all_the_same_with_all_it_started(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    assert end(kept(tmp_path / "log", STUBBORN.format(mark=mark))) == 0
    assert remaining_processes(mark) == {}
