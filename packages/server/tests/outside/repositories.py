"""Small git repositories for tests."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "Olga"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "olga@example.org"),
}


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a work tree, on the branch `master`."""

    folder: Path

    @property
    def address(self) -> str:
        return f"file://{self.folder}"

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.folder,
            env=ENVIRONMENT,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        """The new commit; files by name, with dots written as double underscores."""
        for name, text in files.items():
            (self.folder / name.replace("__", ".")).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


def make_repository(folder: Path) -> Repository:
    folder.mkdir(parents=True)
    made = Repository(folder)
    made.git("init", "-q", "-b", "master")
    return made
