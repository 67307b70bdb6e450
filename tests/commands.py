"""`rookery` as a person types it, on a data folder of the test's own."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.rookery_process import COMMAND, PROJECT, environment

PASSWORD = "correct-horse-battery-7"


def run_command(
    *words: str, data: Path, typed: str = "", settings: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *words, "--data", str(data)],
        cwd=PROJECT,
        env=environment() | dict(settings or {}),
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )


def add_user(
    name: str, data: Path, *words: str, settings: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    line = ("user", "add", name, "--password-stdin", *words)
    return run_command(*line, data=data, typed=PASSWORD + "\n", settings=settings)
