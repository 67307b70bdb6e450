"""Source trees: fetched once by commit, kept for all workers that share the cache."""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.core.http_places import ALLOWING
from rookery.core.model.engine import EngineRecord
from rookery.match.processors import usable_processors
from rookery.worker.engines.cache import (
    Cache,
    Excess,
    LinkLeavesTree,
    copy_into_tree,
    excess_of,
    most_scratch,
    note_use,
    read_text,
    run_guarded,
)
from rookery.worker.engines.gateway import Gateway, open_gateway
from rookery.worker.engines.git import (
    COMMIT,
    CONFIG,
    PROXIES,
    TRUST,
    BadArchive,
    ConfinedGit,
    Fetched,
    is_web,
    unpack_archive,
)
from rookery.worker.engines.orders import (
    BuildFailed,
    EngineDownloads,
    NetFile,
    NotOffered,
    assign_nets,
)
from rookery.worker.engines.programs import Output
from rookery.worker.engines.recipes import BuildConditions, folder_of, makefile
from rookery.worker.engines.toolchain import FoundTool, best_architecture, tool_folders
from rookery.worker.sandbox.enclosure import UserIds
from rookery.worker.sandbox.sandbox import Sandbox

# Copies a source and its nets for a build.

_FINDS_OUT = re.compile(r"ARCH\)\s*,\s*native\b")


def prepare_build(
    record: EngineRecord,
    source: Fetched,
    nets: Sequence[NetFile],
    scratch: Path,
    compiler: FoundTool | None,
    owner: UserIds | None,
) -> BuildConditions:
    """Copy a source for one build, so that the kept one is not changed. Call it in a thread."""
    tree = scratch / "tree"
    shutil.copytree(source.folder, tree, symlinks=True)
    folder = folder_of(record.recipe, tree)
    named: tuple[tuple[str, Path], ...] = ()
    if record.nets.use == "embedded":
        _embed(nets, folder, tree)
    elif record.nets.use == "build_variable":
        named = tuple((name, _copied(net, scratch)) for name, net in assign_nets(record, nets))
    for name in ("cargo", "home"):
        (scratch / name).mkdir()
    if owner:
        give_to_user(scratch, owner)
    return BuildConditions(
        tree,
        compiler,
        named,
        usable_processors(),
        _architecture(folder, tree) if record.recipe.kind == "stockfish" else "native",
        has_cargo=(folder / "Cargo.toml").is_file(),
        is_vendored=any(
            "replace-with" in read_text(path, tree) for path in _cargo_settings(folder)
        ),
        is_locked=(folder / "Cargo.lock").is_file(),
    )


def _cargo_settings(folder: Path) -> tuple[Path, ...]:
    return (folder / ".cargo" / "config.toml", folder / ".cargo" / "config")


def _architecture(folder: Path, tree: Path) -> str:
    """Return the architecture to pass to a Makefile. Old ones do not detect it themselves."""
    text = makefile(folder, tree)
    return "native" if _FINDS_OUT.search(text) else best_architecture(text)


def _embed(nets: Sequence[NetFile], folder: Path, tree: Path) -> None:
    """Put nets where Makefiles look before they would download them."""
    try:
        for net in nets:
            copy_into_tree(net.path, folder, net.name, tree)
    except LinkLeavesTree:
        sentence = f"The source has no folder {folder.name} of its own."
        raise BuildFailed(sentence, blame="run") from None


def _copied(net: NetFile, scratch: Path) -> Path:
    folder = scratch / "nets"
    folder.mkdir(exist_ok=True)
    return copy_into_tree(net.path, folder, net.name, scratch)


def give_to_user(folder: Path, owner: UserIds) -> None:
    """Change the owner of a folder to the account of builds in the sandbox. For links, only the
    link itself is changed."""
    for place, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(Path(place, name), owner.uid, owner.gid, follow_symlinks=False)


TREE, CONTENTS, GIT = "tree", "contents", ".git"


@dataclass(frozen=True, slots=True)
class SourceTrees:
    """The source trees of one cache, and the ways to fetch new ones."""

    cache: Cache
    downloads: EngineDownloads
    environment: Mapping[str, str]
    private: bool = False
    """Whether the owner allows orders that name files and hosts in the owner's own network."""

    async def get(self, repository: str, commit: str, sandbox: Sandbox) -> Fetched:
        """Return the source tree, which must not be written to. Raise BuildFailed."""
        if not COMMIT.fullmatch(commit):
            raise BuildFailed(f"{commit!r} is not a commit.", blame="run")
        if not repository or repository.startswith("-"):
            raise BuildFailed(f"{repository!r} is not the address of a source.", blame="run")
        name = hashlib.sha256(f"{repository}\n{commit}".encode()).hexdigest()
        if known := await self.cache.threads.io(self._known, name):
            return known
        async with self.cache.locked("sources", name):
            known = await self.cache.threads.io(self._known, name)
            return known or await self._fetch(repository, commit, name, sandbox)

    def _known(self, name: str) -> Fetched | None:
        place = self.cache.place("sources", name)
        try:
            tree = (place / TREE).read_text()
        except OSError:
            return None
        note_use(place)
        return Fetched(place / CONTENTS, tree)

    async def _fetch(self, repository: str, commit: str, name: str, sandbox: Sandbox) -> Fetched:
        async with self.cache.scratch() as scratch:
            made = scratch / "made"
            await self.cache.threads.io(_prepare, made)
            if not await self._from_server(repository, commit, scratch, made):
                await self._by_git(repository, commit, made, sandbox)
            tree = await self.cache.threads.io(digest_of_tree, made / CONTENTS)
            await self.cache.threads.io((made / TREE).write_text, tree)
            place = await self.cache.threads.io(self.cache.keep, made, "sources", name)
        return Fetched(place / CONTENTS, tree)

    async def _from_server(self, repository: str, commit: str, scratch: Path, made: Path) -> bool:
        archive = scratch / "source.zip"
        try:
            await self.downloads.source(repository, commit, archive)
        except NotOffered:
            return False
        try:
            await self.cache.threads.io(unpack_archive, archive, made / CONTENTS)
        except BadArchive as bad:
            raise BuildFailed(f"The source's archive {bad}.", blame="run") from None
        return True

    async def _by_git(self, repository: str, commit: str, made: Path, sandbox: Sandbox) -> None:
        output, threads = Output(), self.cache.threads
        most = await threads.io(most_scratch, made)
        if is_web(repository):
            fetching = self._confined(repository, commit, made, sandbox, output)
        elif self.private:
            fetching = ConfinedGit(made / CONTENTS, self.environment, output).fetch(
                repository, commit
            )
        else:
            sentence = f"{repository} is not an https or http address ({ALLOWING})."
            raise BuildFailed(sentence)
        try:
            await run_guarded(fetching, partial(excess_of, made, most), threads)
        except Excess as excess:
            sentence = f"The source could not be fetched: it takes {excess}."
            raise BuildFailed(sentence, output.text, "run") from None

    def _shown(self) -> tuple[Path, ...]:
        """Return the paths of git and of the owner's certificates."""
        git = shutil.which("git", path=self.environment.get("PATH"))
        tools = tool_folders([FoundTool("git", git, "")]) if git else ()
        return (*tools, *trusted_files(self.environment))

    async def _confined(
        self, repository: str, commit: str, made: Path, sandbox: Sandbox, output: Output
    ) -> None:
        """Fetch with git in the sandbox, where it can access only its own folder and public
        addresses."""
        threads, owner = self.cache.threads, sandbox.owner
        readable = await threads.io(self._shown)
        own = {**self.environment, "HOME": str(made)}
        gateway = make_gateway(self.environment, threads, repository, private=self.private)
        if owner:
            await threads.io(give_to_user, made, owner)
        async with open_gateway(gateway, confined=sandbox.available):

            def wrap(
                command: Sequence[str], folder: Path, environment: Mapping[str, str]
            ) -> tuple[str, ...]:
                return sandbox.building(
                    command,
                    folder=folder,
                    scratch=made,
                    readable=readable,
                    environment={**environment, **gateway.variables},
                    relay=gateway.relay,
                )

            try:
                await ConfinedGit(made / CONTENTS, own, output, wrap).fetch(repository, commit)
            except BuildFailed as failed:
                if not (why := gateway.trouble()):
                    raise
                raise BuildFailed(f"The source could not be fetched: {why}.", failed.log) from None
            finally:
                if owner:
                    await threads.io(give_to_user, made, UserIds(os.geteuid(), os.getegid()))


def _prepare(made: Path) -> None:
    (made / CONTENTS).mkdir(parents=True)
    (made / "gitconfig").write_text(CONFIG)


def make_gateway(
    environment: Mapping[str, str], threads: Threads, repository: str, *, private: bool
) -> Gateway:
    """Return the gateway for a fetch. It uses the owner's proxy if there is one."""
    proxies = {name: environment[name] for name in PROXIES if name in environment}
    return Gateway(threads, private=private, repository=repository, proxies=proxies)


def trusted_files(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files with the owner's certificates. It reads the disk."""
    named = (Path(environment[name]) for name in TRUST if environment.get(name))
    return tuple(path for path in named if path.exists())


def digest_of_tree(folder: Path) -> str:
    """Return a digest of all files of a source, the same for git and archives."""
    found = hashlib.sha256()
    for path in sorted(_files_below(folder)):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            kind, content = "link", os.fsencode(path.readlink())
        else:
            kind = "program" if path.stat().st_mode & stat.S_IXUSR else "file"
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
        found.update(f"{kind} {len(content)} {name}\0".encode("utf-8", "surrogateescape") + content)
    return found.hexdigest()


def _files_below(folder: Path) -> Iterator[Path]:
    """All files in a folder except git's own."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != GIT]
        links = [name for name in folders if Path(place, name).is_symlink()]
        yield from (Path(place, name) for name in (*names, *links) if name != GIT)
