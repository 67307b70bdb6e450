"""Makes an environment with both Rookery and rookery-asgi, for tests only.

Rookery doesn't depend on rookery-asgi, so no lock contains both. This environment contains no
packages, but uses those of the two existing environments.
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
    """The folder of an environment's packages, for this version of Python."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))


def build_asgi() -> Path:
    """The Python of rookery-asgi's own environment, after building its core."""
    environment = os.environ | {"PYTHON": sys.executable}
    subprocess.run([ASGI / "scripts" / "build"], env=environment, check=True)
    return ASGI / ".venv" / "bin" / "python"


def python() -> Path:
    """The Python of the combined environment; where both have a package, Rookery's version is
    used."""
    build_asgi()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", TOGETHER], check=True)
    seen = (Path(sysconfig.get_path("purelib")), site_packages(ASGI / ".venv"))
    lines = [f"import site; site.addsitedir({str(folder)!r})\n" for folder in seen]
    (site_packages(TOGETHER) / "together.pth").write_text("".join(lines))
    return PYTHON


if __name__ == "__main__":
    print(python())
