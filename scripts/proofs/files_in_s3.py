"""The tests of real servers once more, with their files in an S3 server instead of a folder.

    scripts/prove files-in-s3 [--tiers NAME ...]

Only the few that are about a folder of files itself keep theirs there. The bucket is served by
rclone, as in the tests of storage.
"""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from scripts.proof import read_options, run_timed
from tests.bucket_server import CREDENTIALS, serve_bucket
from tests.places import PROJECT

HEAD = "| tier | tests | objects in the bucket afterwards |\n|---|---|---|"


@dataclass(frozen=True, slots=True)
class Wanted:
    tiers: tuple[str, ...] = ("acceptance", "faults", "takeovers", "pages")


async def run_tier(name: str, folder: Path) -> bool:
    """Runs a tier and prints a row of the table; returns whether all tests passed."""
    temporary = folder / f"{name}-tests"
    temporary.mkdir()
    with serve_bucket(folder / name) as bucket:
        places = {"ROOKERY_FILES_URL": bucket.url(), "PYTEST_DEBUG_TEMPROOT": str(temporary)}
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", f"tests/{name}"),
            cwd=PROJECT,
            env=os.environ | CREDENTIALS | places | {"ROOKERY_DETECT_BLOCKING": "1"},
            stdout=asyncio.subprocess.PIPE,
        )
        said = (await child.communicate())[0].decode()
    objects = sum(path.is_file() for path in (folder / name).rglob("*"))
    print(f"| {name} | {said.splitlines()[-1]} | {objects:,} |", flush=True)
    if child.returncode:
        print(said, file=sys.stderr)
    return child.returncode == 0 and objects > 0


async def prove(wanted: Wanted, folder: Path) -> int:
    print(HEAD, flush=True)
    return 0 if all([await run_tier(name, folder) for name in wanted.tiers]) else 1


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
