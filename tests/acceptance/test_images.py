"""The images of deploy/ are built where something is at hand that builds images."""

import shutil
import subprocess
from functools import cache

import pytest

from tests.places import PROJECT

BUILD_SECONDS = 600
FETCH_SECONDS = 120
QUICK_SECONDS = 20


@cache
def find_builder() -> tuple[str, ...]:
    """The words that build an image; none where no program does. Docker's needs its daemon."""
    for words in (("podman", "build"), ("buildah", "build"), ("docker", "build")):
        if shutil.which(words[0]) and runs(words[0], "info"):
            return words
    return ()


def has_base(program: str, file: str) -> bool:
    """Whether what an image is made from is here, or can be fetched from its registry."""
    begun = (PROJECT / file).read_text().partition("\nFROM ")[2]
    base = begun.split()[0]
    is_here = runs(program, "inspect", "--type=image", base)
    return is_here or runs(program, "pull", base, seconds=FETCH_SECONDS)


def runs(*words: str, seconds: float = QUICK_SECONDS) -> bool:
    try:
        done = subprocess.run(words, check=False, capture_output=True, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@pytest.mark.timeout(BUILD_SECONDS + FETCH_SECONDS + QUICK_SECONDS)
@pytest.mark.parametrize("name", ["server", "worker"])
def test_an_image_can_be_built(name: str) -> None:
    builder = find_builder()
    if not builder:
        pytest.skip("no podman, buildah or docker with a running daemon is on this machine")
    file, tag = f"deploy/Containerfile.{name}", f"localhost/rookery-{name}:test"
    if not has_base(builder[0], file):
        pytest.skip("the image that ours is made from is not here and can't be fetched")
    words = [*builder, f"--file={file}", f"--tag={tag}", "."]
    done = subprocess.run(words, cwd=PROJECT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def test_the_compose_file_is_read_by_docker_itself() -> None:
    if not runs("docker", "compose", "version"):
        pytest.skip("docker compose, which reads compose files without a daemon, is not here")
    words = ["docker", "compose", "--file=deploy/compose.yaml", "config", "--quiet"]
    done = subprocess.run(words, cwd=PROJECT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
