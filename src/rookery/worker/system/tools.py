"""The programs that builds need, and which versions of them are here."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

BUILD_TOOLS = ("make", "g++", "clang++", "cargo", "cmake", "git", "go")
COMPILERS = ("g++", "clang++")
PATIENCE_SECONDS = 10.0
QUESTIONS = {"go": "version"}
_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,3}")


def versions(names: Iterable[str] = BUILD_TOOLS) -> dict[str, str]:
    """By name; a tool that is here but does not tell its version has an empty one."""
    wanted = tuple(names)
    # Each only waits for a program; together they take as long as the slowest.
    with ThreadPoolExecutor(len(wanted) or 1) as asking:
        found = zip(wanted, asking.map(_said, wanted), strict=True)
        return {name: version_in(said) for name, said in found if said is not None}


def version_in(said: str) -> str:
    """The last number in the first line that has one: before it there may be a packager's."""
    for line in said.splitlines():
        if found := _VERSION.findall(line):
            return str(found[-1])
    return ""


def triple(version: str) -> tuple[int, int, int]:
    numbers = [int(word) for word in version.split(".") if word.isdecimal()]
    first, second, third = (*numbers, 0, 0, 0)[:3]
    return first, second, third


def _said(name: str) -> str | None:
    program = shutil.which(name)
    if program is None:
        return None
    try:
        asked = subprocess.run(
            (program, QUESTIONS.get(name, "--version")),
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout + asked.stderr
