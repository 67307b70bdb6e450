"""Runs `rookery` as a person types it, on a test's own data folder."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.forks import run_forked
from tests.rookery_process import COMMAND, environment, place_data

PASSWORD = "correct-horse-battery-7"


def run_command(
    *words: str,
    data: Path,
    typed: str = "",
    settings: Mapping[str, str] | None = None,
    first: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """Runs a command. On an empty data folder it gets a copy of a migrated database, unless `first`
    is set."""
    if not first:
        place_data(data, settings)
    command = [*COMMAND, *words, "--data", str(data)]
    return run_forked(command, env=environment() | dict(settings or {}), typed=typed)


def add_user(
    name: str, data: Path, *words: str, settings: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    line = ("user", "add", name, "--password-stdin", *words)
    return run_command(*line, data=data, typed=PASSWORD + "\n", settings=settings)
