"""Fetches one commit of any git repository with its submodules, without its history."""

import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rookery.core.errors import describe_exit
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
"""Wraps a git command, with its folder and variables, into a command for the sandbox."""
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
"""The only configuration. The user's own may contain secrets and rewrite addresses."""
TRUST = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR")
PROXIES = (
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
)
"""Proxies and certificates of the owner, passed on to git but not to builds."""
UNTRUSTED = ("certificate verification failed", "SSL certificate problem")
NOT_TRUSTED = (
    "this machine does not trust the server's certificate"
    " (GIT_SSL_CAINFO names a file with those it is to trust)"
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A source tree, and a digest of its content."""

    folder: Path
    tree: str


class ConfinedGit:
    """Runs git for one fetch, in a separate folder."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        output: Output,
        wrap: Wrap | None = None,
    ) -> None:
        """Without `wrap`, git can access everything that the user can."""
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
        """Check the commit out into the folder. Raises BuildFailed."""
        await self._must("init", "--quiet")
        # The addresses of submodules may be relative to this one.
        await self._must("remote", "add", "--", "origin", repository)
        # Most servers send a single commit. From the others, everything is fetched.
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
    """Return the worker's own variables that are passed on to git: proxies and certificates."""
    names = (*TRUST, *PROXIES)
    return {name: os.environ[name] for name in names if name in os.environ}  # noqa: TID251 - handed on, not read


def find_git_trouble(log: str) -> str:
    """Why git failed, in plain words if its message is known."""
    if tells_of_full_disk(log):
        return "the disk is full"
    return NOT_TRUSTED if any(words in log for words in UNTRUSTED) else ""


def _blame_of(log: str) -> Blame:
    """Who is to blame: the run for a commit that does not exist, the machine for everything
    else."""
    gone = ("did not match", "not our ref", "unable to read tree", "reference is not a tree")
    return "run" if any(words in log for words in gone) else "machine"


def is_web(repository: str) -> bool:
    """Whether the address is http or https, the only schemes that an order may use."""
    return repository.startswith(("https://", "http://"))


# Unpacks a source's zip archive: no file outside of the folder, and within a limit of size.

MOST_BYTES = 2 * 2**30
MOST_FILES = 100_000


class BadArchive(Exception):
    """An archive that can't be unpacked. The text completes a sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(why)


def unpack_archive(archive: Path, into: Path) -> None:
    """Unpack a tree without the single top folder that archives contain. Raises BadArchive."""
    try:
        with zipfile.ZipFile(archive) as opened:
            _unpack(opened, into)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError):
        raise BadArchive("is damaged") from None


def _unpack(opened: zipfile.ZipFile, into: Path) -> None:
    members = opened.infolist()
    if any(_is_outside(PurePosixPath(each.filename)) for each in members):
        raise BadArchive("has a file outside its folder")
    if len(members) > MOST_FILES or sum(each.file_size for each in members) > MOST_BYTES:
        raise BadArchive("unpacks to more than a source may have")
    outer = _outer([each.filename for each in members])
    for member in members:
        inner = PurePosixPath(member.filename).relative_to(outer)
        # Links could lead out of the folder, and sources do not need them.
        if inner.parts and not stat.S_ISLNK(member.external_attr >> 16):
            _extract(opened, member, into.joinpath(*inner.parts))


def _is_outside(name: PurePosixPath) -> bool:
    return name.is_absolute() or ".." in name.parts


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


# Finds the version of an engine to use: by address, checkout or folder.

LOOKUP_SECONDS = 120.0
_LISTED = re.compile(r"^([0-9a-f]{40,64})\t(\S+)$", re.MULTILINE)
_FITTING = re.compile(r"[^A-Za-z0-9._+-]+")
US = ("-c", "user.name=rookery", "-c", "user.email=rookery@localhost")


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A commit, where to fetch it, and the source to put into the engine's record."""

    repository: str
    commit: str
    known_as: str


@dataclass(frozen=True, slots=True)
class SourceVersions:
    """Finds commits by running git in a separate folder."""

    folder: Path
    environment: Mapping[str, str]

    async def remote(self, address: str, ref: str) -> SourceVersion:
        """Return the commit of a branch, a tag or the default branch on a server. Raise
        BuildFailed."""
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
            what = f"no branch, tag or commit {ref}" if not code else "no git repository"
            raise BuildFailed(f"There is {what} at {address}.", said)
        return SourceVersion(address, commit, address)

    async def checkout(self, folder: Path, ref: str) -> SourceVersion:
        """Return the commit of a checkout on this machine, without uncommitted changes."""
        code, said = await self._git("-C", str(folder), "rev-parse", f"{ref or 'HEAD'}^{{commit}}")
        if code:
            raise BuildFailed(f"There is no commit {ref or 'HEAD'} in {folder}.", said)
        origin, address = await self._git("-C", str(folder), "remote", "get-url", "origin")
        known_as = address.strip() if not origin else str(folder)
        return SourceVersion(str(folder), said.strip(), known_as)

    async def snapshot(self, folder: Path) -> SourceVersion:
        """Return the present content of a plain folder, committed to a repository of the worker."""
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
    """Return a finder of commits with its folder prepared. It writes a file, so call it in a
    thread."""
    (folder / "gitconfig").write_text(CONFIG)
    return SourceVersions(folder, environment)


def engine_name(address: str) -> str:
    """Return the name of an engine, derived from its address or path."""
    last = PurePosixPath(address.rstrip("/")).name.removesuffix(".git")
    return _FITTING.sub("-", last).strip("-._+")[:60] or "Engine"
