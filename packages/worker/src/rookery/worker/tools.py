"""The programs that builds need, and their versions on this machine."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from rookery.core.model.tools import BUILD_TOOLS

COMPILERS = ("g++", "clang++")
PATIENCE_SECONDS = 10.0
QUESTIONS = {
    **dict.fromkeys(("go", "zig"), "version"),
    **dict.fromkeys(("java", "javac", "kotlinc", "scala", "ant"), "-version"),
    **dict.fromkeys(("lua", "luajit"), "-v"),
    "fpc": "-iV",
}
"""How tools are asked for their version, if not by --version."""
_DOTTED = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,3}")
_WHOLE = re.compile(r"(?:\bversion|^\S+) \"?v?(\d{1,4})\b")
_ASIDE = re.compile(r"\([^()]*\)")


def tool_versions(names: Iterable[str] = BUILD_TOOLS) -> dict[str, str]:
    """Return the versions of tools by name; empty for a tool that does not print one."""
    wanted = tuple(name for name in sorted(names) if shutil.which(name))
    # Each call only waits for a program; together they take as long as the slowest.
    with ThreadPoolExecutor(len(wanted) or 1) as asking:
        found = zip(wanted, asking.map(_said, wanted), strict=True)
        return {name: find_version(said) for name, said in found if said is not None}


def find_version(said: str) -> str:
    """Return the version in a tool's output: the first number with dots, else a whole one.

    What is in parentheses counts only where nothing else does: there are the builds of packages,
    and of other programs.
    """
    for line in said.splitlines():
        if found := _DOTTED.search(_ASIDE.sub("", line)) or _DOTTED.search(line):
            return found[0]
    whole = next(filter(None, map(_WHOLE.search, said.splitlines())), None)
    return whole[1] if whole else ""


def version_triple(version: str) -> tuple[int, int, int]:
    numbers = [int(word) for word in version.split(".") if word.isdecimal()]
    first, second, third = (*numbers, 0, 0, 0)[:3]
    return first, second, third


def _said(name: str) -> str | None:
    """Return what a tool says about its version; None if it does not start, as an empty wrapper."""
    try:
        asked = subprocess.run(
            (name, QUESTIONS.get(name, "--version")),
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if asked.returncode else asked.stdout + asked.stderr
