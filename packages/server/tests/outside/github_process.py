"""A stand-in for GitHub's API in a process of its own, and what it is told to answer."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rookery.server.sources.github import GitHub
from tests.fakes import HandClock
from tests.places import PROJECT
from tests.rookery_process import environment

REPOSITORY = "https://github.com/olga/Engine"
SHA = "a" * 40


@dataclass(frozen=True, slots=True)
class GithubProcess:
    folder: Path
    address: str

    @property
    def settings(self) -> dict[str, str]:
        return {"ROOKERY_GITHUB_API": self.address}

    def put(self, path: str, text: str) -> None:
        (self.folder / path.replace("/", "+")).write_text(text)

    def commit(self, name: str, message: str) -> None:
        text = json.dumps({"sha": SHA, "commit": {"message": message}})
        self.put(f"repos/olga/Engine/commits/{name}", text)

    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()

    def github(self, token: str = "") -> GitHub:
        return GitHub(HandClock(), api=self.address, token=token)


@contextmanager
def github_process(folder: Path, quota: int = 60) -> Iterator[GithubProcess]:
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.outside.fake_github", str(folder), str(quota)],
        cwd=PROJECT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield GithubProcess(folder, f"http://127.0.0.1:{process.stdout.readline().strip()}")
    finally:
        process.kill()
        process.communicate()
