"""Servers and their database cut from one another: the proof in small."""

import subprocess
import sys

from tests.faults.lan import in_namespace
from tests.places import IMPORTED, PROJECT

SMALL = ("--servers", "2", "--most", "3", "--seconds", "5", "--quick")


def test_the_books_balance_when_servers_and_database_lose_one_another() -> None:
    words = [sys.executable, "scripts/proofs/partition.py", *SMALL]
    done = subprocess.run(
        in_namespace(words),
        cwd=PROJECT,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": IMPORTED},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of " in done.stdout
