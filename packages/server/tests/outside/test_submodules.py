"""Submodules in the archives that the server gives, fetched over HTTP from real repositories."""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rookery.core.clock import SystemClock
from rookery.server.sources import mirrors as submodules
from rookery.server.sources.commits import Archive, SourceError, mirror_name
from rookery.server.sources.git import FetchPolicy, Git
from rookery.server.sources.github import GitHub, RemoteSources
from rookery.server.sources.mirrors import Mirrors, Submodule, resolve_address
from tests.outside.git_server import GitServer, git_server
from tests.outside.repositories import Repository, make_repository

CLOCK = SystemClock()
HOST = "engines.invalid"
INSIDE = "inside.invalid"


@dataclass(frozen=True, slots=True)
class Farm:
    """Repositories that are served, and a server of ours that fetches them."""

    folder: Path
    server: GitServer
    outside: RemoteSources
    made: dict[str, Repository] = field(default_factory=dict)

    def address(self, name: str, host: str = HOST) -> str:
        return self.server.address(host, name)

    def repository(self, name: str, **modules: str) -> str:
        """A repository with a file of its name and these submodules, by path; its commit."""
        made = self.made[name] = make_repository(self.folder / name)
        lines = [
            f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n'
            for path, url in modules.items()
            if url
        ]
        if lines:
            (made.folder / ".gitmodules").write_text("".join(lines))
        made.git("add", "-A")
        for path, url in modules.items():
            self._link(made, path, url)
        (made.folder / name).write_text(name)
        made.git("add", "--", name)
        made.git("commit", "-qm", name)
        return made.git("rev-parse", "HEAD")

    def _link(self, made: Repository, path: str, url: str) -> None:
        other = self.made.get(url.rpartition("/")[2].removesuffix(".git"))
        commit = other.git("rev-parse", "HEAD") if other else "1" * 40
        made.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")

    def archive(self, name: str, commit: str, *known: str) -> Archive:
        return self.outside.archive(self.address(name), commit, known=frozenset(known))

    def names(self, name: str, archive: Archive) -> set[str]:
        top = mirror_name(self.address(name))
        with zipfile.ZipFile(archive.file) as pack:
            assert pack.testzip() is None
            files = [each for each in pack.namelist() if not each.endswith("/")]
        assert len(files) == len(set(files))
        return {each.removeprefix(f"{top}/") for each in files}


def resolve(host: str) -> tuple[str, ...]:
    return {HOST: ("127.0.0.1",), INSIDE: ("10.0.0.1",)}[host]


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    folder = tmp_path / "served"
    folder.mkdir()
    with git_server(folder) as server:
        git = Git(FetchPolicy(frozenset({"http"}), frozenset({HOST}), resolve))
        mirrors = Mirrors(tmp_path / "sources", git)
        yield Farm(folder, server, RemoteSources(mirrors, GitHub(CLOCK), CLOCK))


def test_submodules_lie_in_their_places_also_nested_ones(farm: Farm) -> None:
    farm.repository("inner")
    farm.repository("outer", **{"deep/inner": "../inner"})
    commit = farm.repository("engine", lib=farm.address("outer.git"))
    found = farm.archive("engine", commit)
    assert found.missing == ()
    assert farm.names("engine", found) == {
        *("engine", ".gitmodules", "lib/outer", "lib/.gitmodules", "lib/deep/inner/inner"),
    }


def test_the_commit_is_the_one_that_is_named_not_the_latest(farm: Farm) -> None:
    farm.repository("lib")
    commit = farm.repository("engine", lib="../lib")
    farm.made["lib"].commit("Later", later="x")
    assert "lib/later" not in farm.names("engine", farm.archive("engine", commit))


def test_an_archive_with_submodules_is_made_once(farm: Farm) -> None:
    farm.repository("lib")
    commit = farm.repository("engine", lib="../lib")
    first = farm.archive("engine", commit)
    asked = len(farm.server.asked)
    assert farm.archive("engine", commit) == first
    assert len(farm.server.asked) == asked


def test_what_can_t_be_had_is_told_and_the_rest_is_there(farm: Farm) -> None:
    farm.repository("lib")
    commit = farm.repository(
        "engine",
        a="../lib",
        b="../gone",
        c=farm.address("lib", INSIDE),
        d="ssh://git@example.org/x",
        e="",
    )
    for _ in range(2):
        found = farm.archive("engine", commit)
        assert farm.names("engine", found) == {"engine", ".gitmodules", "a/lib"}
        assert [each.partition(" ")[0] for each in found.missing] == ["b", "c", "d", "e"]
    _, inside, by_ssh, nowhere = found.missing
    assert "inside this server's network" in inside
    assert "not by ssh" in by_ssh
    assert "its address is missing" in nowhere


def test_what_goes_round_in_circles_ends(farm: Farm) -> None:
    farm.repository("a", b="../b")
    farm.repository("b", a="../a")
    commit = farm.repository("c", b="../b")
    (missing,) = farm.archive("c", commit).missing
    assert missing.startswith("b/a/b (")


def test_an_archive_is_not_shared_by_those_who_know_other_repositories(farm: Farm) -> None:
    farm.repository("lib")
    commit = farm.repository("engine", lib="../lib")
    private = farm.archive("engine", commit, farm.address("engine"), farm.address("lib"))
    other = farm.archive("engine", commit, farm.address("engine"))
    assert private.file != other.file
    assert farm.archive("engine", commit, farm.address("lib")).file.parent != other.file.parent


@dataclass
class Told:
    """Packs nothing, and remembers as whom it was asked to."""

    known: list[tuple[str, bool]] = field(default_factory=list)
    inner: tuple[Submodule, ...] = ()

    def pack(
        self, git: Git, repository: str, commit: str, top: str, into: Path
    ) -> tuple[Submodule, ...]:
        self.known.append((repository, git.known))
        with zipfile.ZipFile(into, "w") as pack:
            pack.writestr(f"{top}/x", b"x" * 10)
        return self.inner


LIB = "https://example.org/owls/lib"


def make_packer(
    told: Told, *known: str, room: int = 1000, modules: int = 50
) -> submodules.SubmodulePacker:
    git = Git(FetchPolicy())
    return submodules.SubmodulePacker(told, git, frozenset(known), CLOCK, room, modules)


def test_the_server_says_who_it_is_only_to_sources_of_engines(tmp_path: Path) -> None:
    told = Told()
    modules = (Submodule("a", f"{LIB}.git", "1"), Submodule("b", "https://example.org/other", "1"))
    graft = make_packer(told, LIB)
    graft.add_all(tmp_path / "whole.zip", "https://example.org/owls/x", "top", modules)
    assert told.known == [(LIB, True), ("https://example.org/other", False)]


def test_too_many_too_deep_or_too_large_is_left_out(tmp_path: Path) -> None:
    whole, module = tmp_path / "whole.zip", Submodule("a", LIB, "1")
    many = make_packer(Told(), modules=1)
    many.add_all(whole, LIB, "top", (module, module))
    large = make_packer(Told(), room=15)
    large.add_all(whole, LIB, "top", (Submodule("b", LIB, "1"), Submodule("c", LIB, "1")))
    deep = make_packer(Told(inner=(Submodule("d", LIB, "1"),)))
    deep.add_all(whole, LIB, "top", (module,))
    assert many.missing == ["a (there are more than 50)"]
    assert large.missing == ["c (it is too large)"]
    assert deep.missing == ["a/d/d/d/d/d (it is nested more than 5 deep)"]


@pytest.mark.parametrize("path", ["../out", "a/../../out", "/etc", ".git/hooks", "a//b", "."])
def test_a_place_outside_is_none(tmp_path: Path, path: str) -> None:
    told = Told()
    graft = make_packer(told)
    graft.add_all(tmp_path / "whole.zip", LIB, "top", (Submodule(path, LIB, "1"),))
    assert graft.missing == [f"{path} (its path is not allowed)"]
    assert told.known == []


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("../other.git", "https://example.org/owls/other"),
        ("../../x/other", "https://example.org/x/other"),
        ("./below", "https://example.org/owls/lib/below"),
        ("https://example.org/a.git/", "https://example.org/a"),
    ],
)
def test_addresses_beside_the_own_are_found(url: str, address: str) -> None:
    assert resolve_address(url, LIB) == address


def test_an_address_can_t_climb_out_of_its_host() -> None:
    with pytest.raises(SourceError, match="leads nowhere"):
        resolve_address("../../../../x", LIB)
