"""Finds out which version of an engine is meant: by address, checkout or folder."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rookery.worker.engines.git import COMMIT, CONFIG, trouble
from rookery.worker.engines.order import BuildFailed
from rookery.worker.engines.output import Output
from rookery.worker.engines.programs import Program, TooLong, run

SECONDS = 120.0
_LISTED = re.compile(r"^([0-9a-f]{40,64})\t(\S+)$", re.MULTILINE)
_FITTING = re.compile(r"[^A-Za-z0-9._+-]+")
US = ("-c", "user.name=rookery", "-c", "user.email=rookery@localhost")


@dataclass(frozen=True, slots=True)
class Version:
    """A commit, where to fetch it, and what the engine's record should say of its source."""

    repository: str
    commit: str
    known_as: str


@dataclass(frozen=True, slots=True)
class Versions:
    """Asks git, in a folder of its own."""

    folder: Path
    environment: Mapping[str, str]

    async def remote(self, address: str, ref: str) -> Version:
        """The commit that a server's branch, tag or default branch has; raises BuildFailed."""
        if COMMIT.fullmatch(ref):
            return Version(address, ref, address)
        wanted = [f"refs/tags/{ref}^{{}}", f"refs/heads/{ref}", f"refs/tags/{ref}", ref]
        wanted = wanted if ref else ["HEAD"]
        code, said = await self._git("ls-remote", "--", address, *wanted)
        listed = {name: sha for sha, name in _LISTED.findall(said)}
        if why := trouble(said):
            raise BuildFailed(f"{address} can't be read: {why}.", said)
        commit = next((listed[name] for name in wanted if name in listed), "")
        if code or not commit:
            what = f"no branch, tag or commit {ref}" if not code else "nothing that git can read"
            raise BuildFailed(f"There is {what} at {address}.", said)
        return Version(address, commit, address)

    async def checkout(self, folder: Path, ref: str) -> Version:
        """The commit that a checkout on this machine has; what is not committed stays outside."""
        code, said = await self._git("-C", str(folder), "rev-parse", f"{ref or 'HEAD'}^{{commit}}")
        if code:
            raise BuildFailed(f"There is no commit {ref or 'HEAD'} in {folder}.", said)
        origin, address = await self._git("-C", str(folder), "remote", "get-url", "origin")
        known_as = address.strip() if not origin else str(folder)
        return Version(str(folder), said.strip(), known_as)

    async def snapshot(self, folder: Path) -> Version:
        """A plain folder as it is now, as a commit of a repository of ours."""
        where = (f"--git-dir={self.folder / 'snapshot.git'}", f"--work-tree={folder}")
        for words in (
            ("init", "--quiet"),
            ("add", "--all"),
            ("commit", "--quiet", "--message", "."),
        ):
            code, said = await self._git(*US, *where, *words)
            if code:
                raise BuildFailed(f"{folder} can't be read as a source.", said)
        _, commit = await self._git(*where, "rev-parse", "HEAD")
        return Version(str(self.folder / "snapshot.git"), commit.strip(), str(folder))

    async def _git(self, *words: str) -> tuple[int, str]:
        config = self.folder / "gitconfig"
        environment = {
            **self.environment,
            "GIT_CONFIG_GLOBAL": str(config),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        }
        output = Output()
        try:
            code = await run(Program(("git", *words), None, environment, SECONDS), output)
        except FileNotFoundError:
            raise BuildFailed("git is not installed on this machine.") from None
        except TooLong:
            raise BuildFailed("git did not answer in time.", output.text) from None
        return code, output.text


def prepared(folder: Path, environment: Mapping[str, str]) -> Versions:
    """Writes a file, so that it belongs into a thread."""
    (folder / "gitconfig").write_text(CONFIG)
    return Versions(folder, environment)


def name_of(address: str) -> str:
    """An engine's name from its address or path."""
    last = PurePosixPath(address.rstrip("/")).name.removesuffix(".git")
    return _FITTING.sub("-", last).strip("-._+")[:60] or "Engine"
