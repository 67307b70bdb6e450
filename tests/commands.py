"""`rookery` as a person types it, on a data folder of the test's own."""

import subprocess
from pathlib import Path

from tests.served import COMMAND, PROJECT, environment

PASSWORD = "correct-horse-battery-7"


def said(*words: str, data: Path, typed: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *words, "--data", str(data)],
        cwd=PROJECT,
        env=environment(),
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )


def add_user(name: str, data: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return said("user", "add", name, "--password-stdin", *words, data=data, typed=PASSWORD + "\n")
