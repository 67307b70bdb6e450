"""Makes an environment with the extra `llamaindex`, for its tests only.

Its packages are many and large, so they are installed once and kept below .cache until their lock
changes. Packages that the environment of the other tests also has are used from there.
"""

import hashlib
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "locks" / "llamaindex.txt"
TESTED = ROOT / "locks" / "test.txt"
FOLDER = ROOT / ".cache" / "llamaindex"
PYTHON = FOLDER / "bin" / "python"
STAMP = FOLDER / "made-from"


def make_environment() -> Path:
    """Makes the environment if needed; returns its Python."""
    stamp = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    if not STAMP.exists() or STAMP.read_text() != stamp:
        install()
        STAMP.write_text(stamp)
    return PYTHON


def install() -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", FOLDER], check=True)
    theirs = Path(sysconfig.get_path("purelib"))
    ours = Path(sysconfig.get_path("purelib", "venv", {"base": str(FOLDER)}))
    (ours / "tested.pth").write_text(f"import site; site.addsitedir({str(theirs)!r})\n")
    wanted = FOLDER / "requirements.txt"
    tested = set(list_packages(TESTED))
    wanted.write_text("".join(each for each in list_packages(LOCK) if each not in tested))
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", PYTHON, "--quiet", "install"]
    subprocess.run([*pip, "--require-hashes", "--no-deps", "-r", wanted], check=True)


def list_packages(lock: Path) -> Iterator[str]:
    """The entries of a lock, each with its hashes and without comments."""
    entry = ""
    for line in lock.read_text().splitlines(keepends=True):
        if line.lstrip().startswith("#"):
            continue
        if not line.startswith(" ") and entry:
            yield entry
            entry = ""
        entry += line
    if entry:
        yield entry


if __name__ == "__main__":
    print(make_environment())
