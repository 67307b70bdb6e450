"""Makes an environment that has both Rookery and rookery-asgi, for tests alone.

No lock, wheel or image of ours holds the two together: who installs both makes that choice. This
environment holds nothing of its own and looks into the two that are there.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ASGI = ROOT / "asgi"
TOGETHER = ROOT / ".cache" / "together"
PYTHON = TOGETHER / "bin" / "python"


def site_packages(folder: Path) -> Path:
    """Where the packages of an environment of this very Python are."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))


def build_asgi() -> Path:
    """The Python of rookery-asgi's own environment, with its core built."""
    environment = os.environ | {"PYTHON": sys.executable}
    subprocess.run([ASGI / "scripts" / "build"], env=environment, check=True)
    return ASGI / ".venv" / "bin" / "python"


def python() -> Path:
    """The Python of the environment; Rookery's packages come first where both have one."""
    build_asgi()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", TOGETHER], check=True)
    seen = (Path(sysconfig.get_path("purelib")), site_packages(ASGI / ".venv"))
    lines = [f"import site; site.addsitedir({str(folder)!r})\n" for folder in seen]
    (site_packages(TOGETHER) / "together.pth").write_text("".join(lines))
    return PYTHON


if __name__ == "__main__":
    print(python())
