#!/usr/bin/env python3
"""Fuzzes the ASGI server's C parsers with libFuzzer and keeps what is worth keeping.

Usage: asgi_fuzz.py [--seconds 600]. Needs clang. Exit 0 when nothing broke.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ASGI = Path(__file__).resolve().parents[2] / "asgi"
SOURCES = {
    "head": ("head.c", "chars.c"),
    "chunked": ("chunked.c", "chars.c"),
    "frames": ("frames.c",),
}
FLAGS = (
    "-std=c11",
    "-g",
    "-O2",
    "-fsanitize=fuzzer,address,undefined",
    "-fno-sanitize-recover=all",
)


def build(target: str, folder: Path) -> Path:
    """The fuzzer of one parser."""
    program = folder / target
    sources = [ASGI / "fuzz" / f"{target}.c", *(ASGI / "src/core" / n for n in SOURCES[target])]
    subprocess.run(["clang", *FLAGS, *map(str, sources), "-o", str(program)], check=True)
    return program


def fuzz(program: Path, target: str, folder: Path, seconds: int) -> bool:
    """Fuzz, then merge what is new into the kept corpus; True when nothing broke."""
    kept, fresh = ASGI / "fuzz/corpus" / target, folder / f"{target}-new"
    fresh.mkdir()
    dictionary = ASGI / "fuzz" / f"{target}.dict"
    extra = [f"-dict={dictionary}"] if dictionary.exists() else []
    done = subprocess.run(
        [str(program), f"-max_total_time={seconds}", "-max_len=1200", "-timeout=5", *extra,
         f"-artifact_prefix={folder}/", str(fresh), str(kept)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    runs = [line for line in done.stderr.splitlines() if line.startswith(("Done", "SUMMARY"))]
    print(f"{target}: {runs[-1] if runs else done.stderr[-300:]}", flush=True)
    merge = [str(program), "-merge=1", str(kept), str(fresh)]
    subprocess.run(merge, capture_output=True, check=False)
    return done.returncode == 0


def main() -> int:
    """All parsers, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="in all")
    seconds = parser.parse_args().seconds // len(SOURCES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        outcomes = [fuzz(build(t, folder), t, folder, seconds) for t in SOURCES]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
