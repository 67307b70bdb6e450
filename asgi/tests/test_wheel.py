"""What is published: the source distribution, and the wheel that is built from it."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.serving import ROOT

FAST = {"ROOKERY_ASGI_REQUIRE_CORE": "1", "ROOKERY_ASGI_CFLAGS": "-O0"}


def run(*words: str, where: Path = ROOT) -> str:
    done = subprocess.run(
        words, cwd=where, env={**os.environ, **FAST}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    run(
        *(sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(folder)),
        *("sdist", "--dist-dir", str(folder)),
    )
    (made,) = folder.glob("*.tar.gz")
    return made


def test_the_source_distribution_has_all_that_is_compiled(sdist: Path) -> None:
    with tarfile.open(sdist) as made:
        names = {name.partition("/")[2] for name in made.getnames()}
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "src/core").glob("*.[ch]")}
    assert sources | {"LICENSE", "README.md", "CHANGELOG.md"} <= names


@pytest.mark.timeout(600)
def test_a_wheel_from_it_serves_in_an_empty_environment(sdist: Path, tmp_path: Path) -> None:
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", str(tmp_path), str(sdist)),
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as made:
        names = made.namelist()
    assert [name for name in names if name.endswith(".so")]
    assert "rookery_asgi/py.typed" in names
    assert "it serves" in run(str(ROOT / "scripts/try-wheel"), sys.executable, str(wheel))
