"""git connects to the address that was looked at, whatever the name leads to afterwards."""

import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rookery.server.sources.commits import SourceError
from rookery.server.sources.git import FetchPolicy, Git, RepositoryHost, git_options, git_variables
from rookery.server.sources.mirrors import Mirrors
from tests.outside.git_server import git_server
from tests.outside.repositories import ENVIRONMENT, Repository, make_repository

HOST = "engines.invalid"
"""No name service knows it."""


class Names:
    """A name service that gives its answers one after the other."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    def __call__(self, _host: str) -> tuple[str, ...]:
        return (self.answers.pop(0),)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path / "served" / "engine")
    made.commit("First", a="1")
    return made


def reach(names: Names, scheme: str = "http") -> FetchPolicy:
    return FetchPolicy(frozenset({scheme}), frozenset({HOST}), names)


def test_a_name_is_looked_up_once_for_each_call_of_git(
    repository: Repository, tmp_path: Path
) -> None:
    names = Names("127.0.0.1", "127.0.0.1")
    with git_server(repository.folder.parent) as server:
        address = server.address(HOST, "engine/.git")
        git = Git(reach(names))
        sha = git.find(address, "master")
        assert Mirrors(tmp_path / "mirrors", git).read_message(git, address, sha) == "First"
        assert set(server.asked) == {f"{HOST}:{server.port}"}
    assert names.answers == []


def test_what_the_name_leads_to_later_is_not_asked(repository: Repository) -> None:
    """Nobody listens at the address that was looked at, and git does not try another one."""
    with git_server(repository.folder.parent) as server:
        address = server.address("localhost", "engine/.git")
        pinned = FetchPolicy(frozenset({"http"}), frozenset({"localhost"}), Names("127.0.0.2"))
        with pytest.raises(SourceError):
            Git(pinned).find(address, "master")
        assert server.asked == []


def test_a_redirect_is_not_followed(repository: Repository) -> None:
    with git_server(repository.folder.parent) as there:
        with git_server(repository.folder, elsewhere=there.address("127.0.0.1", "")) as server:
            address = server.address(HOST, "engine/.git")
            with pytest.raises(SourceError):
                Git(reach(Names("127.0.0.1"))).find(address, "master")
        assert len(server.asked) == 1
        assert there.asked == []


@pytest.mark.parametrize(
    "found", [("10.0.0.1",), ("::1",), ("8.8.8.8", "127.0.0.1"), ("fe80::1%lo",)]
)
def test_a_name_that_leads_inside_is_refused(found: tuple[str, ...]) -> None:
    with pytest.raises(SourceError, match="inside this server's network"):
        FetchPolicy(resolve=lambda _: found).check(f"https://{HOST}/x")


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org\\@127.0.0.1/x",
        "https://a@b@127.0.0.1/x",
        "https://example.org./x",
        "https://127.0.0.1%2f.example.org/x",
        "https://ex\u00e4mple.org/x",
        "https:///x",
        "https://-oProxyCommand=x/y",
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(address: str) -> None:
    with pytest.raises(SourceError, match="can't be the name of a host"):
        FetchPolicy(resolve=lambda _: ("8.8.8.8",)).check(address)


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(SourceError, match="there is no host"):
        FetchPolicy(resolve=lambda _: ("8.8.8.8",)).check("https://example.org:99999/x")


def test_all_addresses_of_a_name_are_given_with_its_port() -> None:
    place = FetchPolicy(resolve=lambda _: ("8.8.8.8", "2001:4860::1")).check(
        "https://u@Example.org:8443/x"
    )
    assert git_options(place) == (
        *("-c", "http.curloptResolve=example.org:8443:8.8.8.8,[2001:4860::1]"),
    )


def test_ssh_connects_to_the_address_under_the_key_of_the_name() -> None:
    command = git_variables(RepositoryHost("ssh", "example.org", 2222, ("8.8.8.8",)))[
        "GIT_SSH_COMMAND"
    ]
    assert "-oHostName=8.8.8.8 -oHostKeyAlias=[example.org]:2222" in command


def test_who_shows_nothing_has_no_ssh() -> None:
    git = Git(FetchPolicy(frozenset({"ssh"}), resolve=lambda _: ("8.8.8.8",)))
    said = (
        git.pin_host("ssh://git@example.org/x")
        .without_credentials()
        .run("-c", "alias.all=!env", "all")
    )
    assert "GIT_SSH_COMMAND=false" in said


def test_gits_own_protocol_is_sent_to_the_address_too(repository: Repository) -> None:
    with daemon(repository.folder.parent) as port:
        git = Git(reach(Names("127.0.0.1"), "git"))
        sha = git.find(f"git://{HOST}:{port}/engine/.git", "master")
    assert sha == repository.git("rev-parse", "HEAD")


@contextmanager
def daemon(folder: Path) -> Iterator[int]:
    """Started for each connection by us, because only so is its port free for certain."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            subprocess.run(
                ["git", "daemon", "--inetd", "--export-all", f"--base-path={folder}"],
                stdin=self.request, stdout=self.request, env=ENVIRONMENT, check=False,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()
