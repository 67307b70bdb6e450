"""Fetches one commit of any git repository, with its submodules, and nothing of its history."""

import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rookery.errors import describe_exit
from rookery.worker.engines.orders import Blame, BuildFailed
from rookery.worker.engines.programs import (
    Output,
    Program,
    TooLong,
    run_program,
    tells_of_full_disk,
)

FETCH_SECONDS = 900.0
OUTSIDE = ("http", "https")
OWN = (*OUTSIDE, "git", "ssh", "file")
Wrap = Callable[[Sequence[str], Path, Mapping[str, str]], tuple[str, ...]]
"""Puts a command of git, its folder and its variables into the sandbox."""
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?", re.ASCII)
CONFIG = """\
[safe]
	directory = *
[advice]
	detachedHead = false
[init]
	defaultBranch = main
[http]
	followRedirects = false
"""
"""Ours alone: that of the person at the machine may hold secrets, and rewrites of addresses."""
TRUST = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR")
PROXIES = (
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
)
"""Whom the owner trusts and through whom the world is reached: for git alone, not for builds."""
UNTRUSTED = ("certificate verification failed", "SSL certificate problem")
NOT_TRUSTED = (
    "this machine does not trust the server's certificate"
    " (GIT_SSL_CAINFO names a file with those it is to trust)"
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A source tree, and one name for all of its contents."""

    folder: Path
    tree: str


class ConfinedGit:
    """Runs git for one fetch, in a folder of its own."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        output: Output,
        wrap: Wrap | None = None,
    ) -> None:
        """Without `wrap` git reaches whatever the person at the machine reaches."""
        self._folder = folder
        self._output = output
        self._wrap = wrap
        self._environment = {
            **environment,
            "GIT_CONFIG_GLOBAL": str(folder.parent / "gitconfig"),
            **({"GIT_CONFIG_NOSYSTEM": "1"} if wrap else {}),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
            "GIT_ALLOW_PROTOCOL": ":".join(OUTSIDE if wrap else OWN),
            "GIT_LFS_SKIP_SMUDGE": "1",
        }

    async def fetch(self, repository: str, commit: str) -> None:
        """Check the commit out into the folder; raises BuildFailed."""
        await self._must("init", "--quiet")
        # Submodules may be named by where they lie from here.
        await self._must("remote", "add", "--", "origin", repository)
        # Most servers give a single commit; the others are asked for all they have.
        if await self._git("fetch", "--depth=1", "--no-tags", "--", repository, commit):
            await self._must("fetch", "--no-tags", "--", repository, "+refs/*:refs/fetched/*")
        await self._must("checkout", "--quiet", "--force", commit)
        if await self._git("submodule", "update", "--init", "--recursive", "--depth=1"):
            await self._must("submodule", "update", "--init", "--recursive")

    async def _must(self, *words: str) -> None:
        if code := await self._git(*words):
            log = self._output.text
            why = find_git_trouble(log) or f"git {words[0]} {describe_exit(code)}"
            raise BuildFailed(f"The source could not be fetched: {why}.", log, _blame_of(log))

    async def _git(self, *words: str) -> int:
        output = self._output
        output.line(f"$ git {' '.join(words)}")
        program = Program(("git", *words), self._folder, self._environment, FETCH_SECONDS)
        if self._wrap:
            command = self._wrap(program.command, self._folder, self._environment)
            program = Program(command, seconds=FETCH_SECONDS)
        try:
            return await run_program(program, output)
        except FileNotFoundError:
            raise BuildFailed("git is not installed on this machine.") from None
        except TooLong:
            raise BuildFailed("The source could not be fetched in time.", output.text) from None


def proxy_environment() -> dict[str, str]:
    """The worker's own variables that git is given: proxies and certificates."""
    names = (*TRUST, *PROXIES)
    return {name: os.environ[name] for name in names if name in os.environ}  # noqa: TID251 - handed on, not read


def find_git_trouble(log: str) -> str:
    """Why git failed, in our words where its own are known."""
    if tells_of_full_disk(log):
        return "the disk is full"
    return NOT_TRUSTED if any(words in log for words in UNTRUSTED) else ""


def _blame_of(log: str) -> Blame:
    """A commit that is not there is the run's fault, everything else the machine's."""
    gone = ("did not match", "not our ref", "unable to read tree", "reference is not a tree")
    return "run" if any(words in log for words in gone) else "machine"


def is_web(repository: str) -> bool:
    """Whether it is fetched by http or https, which is all that a server's order may ask for."""
    return repository.startswith(("https://", "http://"))


# Unpacks a source's zip archive: no file outside its folder, not more than a disk can bear.

MOST_BYTES = 2 * 2**30
MOST_FILES = 100_000


class BadArchive(Exception):
    """An archive that can't be unpacked; the text completes a sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(why)


def unpack_archive(archive: Path, into: Path) -> None:
    """Unpack a tree without the one folder that archives put around it; raises BadArchive."""
    try:
        with zipfile.ZipFile(archive) as opened:
            _unpack(opened, into)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError):
        raise BadArchive("is damaged") from None


def _unpack(opened: zipfile.ZipFile, into: Path) -> None:
    members = opened.infolist()
    if len(members) > MOST_FILES or sum(each.file_size for each in members) > MOST_BYTES:
        raise BadArchive("unpacks to more than a source may have")
    outer = _outer([each.filename for each in members])
    for member in members:
        inner = PurePosixPath(member.filename).relative_to(outer)
        if inner.is_absolute() or ".." in inner.parts:
            raise BadArchive("has a file outside its folder")
        # Links could lead out of the folder, and no source needs one.
        if inner.parts and not stat.S_ISLNK(member.external_attr >> 16):
            _extract(opened, member, into.joinpath(*inner.parts))


def _outer(names: list[str]) -> PurePosixPath:
    firsts = {PurePosixPath(name).parts[:1] for name in names}
    alone = len(firsts) == 1 and any(len(PurePosixPath(name).parts) > 1 for name in names)
    return PurePosixPath(*next(iter(firsts))) if alone else PurePosixPath()


def _extract(opened: zipfile.ZipFile, member: zipfile.ZipInfo, place: Path) -> None:
    if member.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with opened.open(member) as packed, place.open("wb") as file:
        shutil.copyfileobj(packed, file)
    if (member.external_attr >> 16) & 0o111:
        place.chmod(0o755)


# Finds out which version of an engine is meant: by address, checkout or folder.

LOOKUP_SECONDS = 120.0
_LISTED = re.compile(r"^([0-9a-f]{40,64})\t(\S+)$", re.MULTILINE)
_FITTING = re.compile(r"[^A-Za-z0-9._+-]+")
US = ("-c", "user.name=rookery", "-c", "user.email=rookery@localhost")


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A commit, where to fetch it, and what the engine's record should say of its source."""

    repository: str
    commit: str
    known_as: str


@dataclass(frozen=True, slots=True)
class SourceVersions:
    """Finds commits by asking git, which runs in a folder of its own."""

    folder: Path
    environment: Mapping[str, str]

    async def remote(self, address: str, ref: str) -> SourceVersion:
        """The commit that a server's branch, tag or default branch has; raises BuildFailed."""
        if COMMIT.fullmatch(ref):
            return SourceVersion(address, ref, address)
        wanted = [f"refs/tags/{ref}^{{}}", f"refs/heads/{ref}", f"refs/tags/{ref}", ref]
        wanted = wanted if ref else ["HEAD"]
        code, said = await self._git("ls-remote", "--", address, *wanted)
        listed = {name: sha for sha, name in _LISTED.findall(said)}
        if why := find_git_trouble(said):
            raise BuildFailed(f"{address} can't be read: {why}.", said)
        commit = next((listed[name] for name in wanted if name in listed), "")
        if code or not commit:
            what = f"no branch, tag or commit {ref}" if not code else "nothing that git can read"
            raise BuildFailed(f"There is {what} at {address}.", said)
        return SourceVersion(address, commit, address)

    async def checkout(self, folder: Path, ref: str) -> SourceVersion:
        """The commit that a checkout on this machine has; what is not committed stays outside."""
        code, said = await self._git("-C", str(folder), "rev-parse", f"{ref or 'HEAD'}^{{commit}}")
        if code:
            raise BuildFailed(f"There is no commit {ref or 'HEAD'} in {folder}.", said)
        origin, address = await self._git("-C", str(folder), "remote", "get-url", "origin")
        known_as = address.strip() if not origin else str(folder)
        return SourceVersion(str(folder), said.strip(), known_as)

    async def snapshot(self, folder: Path) -> SourceVersion:
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
        return SourceVersion(str(self.folder / "snapshot.git"), commit.strip(), str(folder))

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
            code = await run_program(
                Program(("git", *words), None, environment, LOOKUP_SECONDS), output
            )
        except FileNotFoundError:
            raise BuildFailed("git is not installed on this machine.") from None
        except TooLong:
            raise BuildFailed("git did not answer in time.", output.text) from None
        return code, output.text


def prepare_versions(folder: Path, environment: Mapping[str, str]) -> SourceVersions:
    """A finder of commits with its folder prepared; writes a file, so that it belongs into a
    thread."""
    (folder / "gitconfig").write_text(CONFIG)
    return SourceVersions(folder, environment)


def engine_name(address: str) -> str:
    """An engine's name from its address or path."""
    last = PurePosixPath(address.rstrip("/")).name.removesuffix(".git")
    return _FITTING.sub("-", last).strip("-._+")[:60] or "Engine"
