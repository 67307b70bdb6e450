"""Proofs are supervised: they are asked to end in order, and nothing of them stays behind.

A process of its own supervises here, because it adopts and ends all that runs below it.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import PROJECT
from tests.process_table import remaining_processes

KEEPER = """
import os, sys
from pathlib import Path
from scripts import supervised
words = (sys.executable, "-u", "-c", sys.argv[1], *sys.argv[2:])
def hear(line): print(line, end="", flush=True)
ending = supervised.run(words, Path("."), os.environ, hear, linger=0.2)
print(ending.code, len(ending.left), ending.interrupted)
"""
SLEEPS = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]],
                 start_new_session=True)
"""
WINDS_UP = """
import time
try:
    print("at work")
    time.sleep(600)
except KeyboardInterrupt:
    print("wound up")
"""


def kept(program: str, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", KEEPER, program, *words],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_what_a_program_leaves_behind_is_told_and_ended(tmp_path: Path) -> None:
    said, _ = kept(SLEEPS, str(tmp_path)).communicate(timeout=60)
    assert said == "0 1 False\n"
    assert remaining_processes(tmp_path) == {}


def test_a_program_that_leaves_nothing_ends_with_its_own_code() -> None:
    said, _ = kept("print('done'); raise SystemExit(3)").communicate(timeout=60)
    assert said == "done\n3 0 False\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_program_winds_up_and_is_heard_to_its_end(number: signal.Signals) -> None:
    keeper = kept(WINDS_UP)
    assert keeper.stdout is not None
    assert keeper.stdout.readline() == "at work\n"
    keeper.send_signal(number)
    said, _ = keeper.communicate(timeout=60)
    assert said == "wound up\n0 0 True\n"
