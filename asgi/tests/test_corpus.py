"""Every input that fuzzing has kept is replayed under the sanitizers."""

import subprocess
from pathlib import Path

import pytest

from tests.serving import ROOT

SOURCES = {
    "head": ("head.c", "chars.c"),
    "chunked": ("chunked.c", "chars.c"),
    "frames": ("frames.c",),
}
FLAGS = ("-std=c11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.mark.parametrize("target", SOURCES)
def test_the_kept_corpus_holds(target: str, tmp_path: Path) -> None:
    program = tmp_path / target
    sources = [ROOT / "src/core" / name for name in SOURCES[target]]
    fuzz = [ROOT / "fuzz" / f"{target}.c", ROOT / "fuzz" / "replay.c"]
    subprocess.run(["gcc", *FLAGS, *map(str, fuzz + sources), "-o", str(program)], check=True)
    inputs = sorted(map(str, (ROOT / "fuzz" / "corpus" / target).iterdir()))
    done = subprocess.run([str(program), *inputs], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(inputs)} inputs\n"
