"""The programs that tests need: finds them, and installs what is missing where that is allowed."""

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

NO_APT = "ROOKERY_NO_APT"
"""If set to 1, nothing is installed by apt-get; scripts/environment reads it too."""
PYTHON_HEADER = Path(sysconfig.get_path("include")) / "Python.h"


@dataclass(frozen=True, slots=True)
class Program:
    """A program that tests need, and the Debian packages that contain it."""

    commands: tuple[str, ...]
    packages: tuple[str, ...]
    purpose: str
    needed: bool = True

    def find(self) -> str | None:
        places = f"{os.environ.get('PATH', '')}:/usr/games:/usr/sbin"
        return next(filter(None, (shutil.which(each, path=places) for each in self.commands)), None)

    def is_there(self) -> bool:
        # A compiler without Python's headers builds no extension module.
        headers = self.commands != ("cc",) or PYTHON_HEADER.exists()
        return self.find() is not None and headers


PROGRAMS = (
    Program(("chromium", "chromium-browser", "google-chrome"), ("chromium",), "the page tests"),
    Program(("stockfish",), ("stockfish",), "matches of a second real engine", needed=False),
    Program(("bwrap",), ("bubblewrap",), "the tests of the sandbox"),
    Program(("nginx",), ("nginx-light",), "the tests of proxies"),
    Program(("haproxy",), ("haproxy",), "the tests of proxies"),
    Program(("ip",), ("iproute2",), "the tests of partitions"),
    Program(("cc",), ("gcc", "libc6-dev", "python3-dev"), "the ASGI server in C"),
)


def install_programs() -> str:
    """Reports missing programs, installs them by apt-get if allowed, and lists what there is."""
    missing = [program for program in PROGRAMS if not program.is_there()]
    packages = [name for program in missing for name in program.packages]
    if packages and may_install():
        print(
            f"scripts/test installs by apt-get: {' '.join(packages)} (--no-apt: it does not)",
            file=sys.stderr,
            flush=True,
        )
        apt("update")
        apt("install", "-y", "--no-install-recommends", *packages)
    if lacking := [each for each in missing if each.needed and not each.is_there()]:
        purposes = ", ".join(dict.fromkeys(each.purpose for each in lacking))
        words = " ".join(name for each in lacking for name in each.packages)
        sys.exit(f"scripts/test: {purposes} need: apt-get install {words}")
    return "\n".join(f"{each.commands[0]}: {each.find() or 'not here'}" for each in PROGRAMS)


def may_install() -> bool:
    allowed = os.environ.get(NO_APT, "") in {"", "0"}
    return allowed and os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt(*words: str) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "-qq", *words], env=environment, check=True, stdout=sys.stderr)
