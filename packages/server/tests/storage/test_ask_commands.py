"""`rookery ask index`, `status` and `rebuild`, on a database that is there already."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rookery.core.command import BadArgument
from rookery.server.ask import indexing
from rookery.server.commands.ask_index import index_history, rebuild_index, show_index
from rookery.server.commands.db import DatabaseSettings
from rookery.server.db.target import Target
from tests.outside.repositories import make_repository

# A command has a process of its own, whose loop it may block.
pytestmark = pytest.mark.usefixtures("may_block_the_loop")
Run = Callable[[Awaitable[None]], str]


@pytest.fixture
def flags(database: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DatabaseSettings:
    monkeypatch.setattr(indexing, "PAUSES", 0)
    return DatabaseSettings(data=str(tmp_path / "data"), database_url=database.dsn)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(command: Awaitable[None]) -> str:
        async def wait() -> None:
            await command

        asyncio.run(wait())
        return capsys.readouterr().out

    return run


def test_the_commits_of_a_clone_are_indexed_counted_and_forgotten(
    flags: DatabaseSettings, run: Run, tmp_path: Path
) -> None:
    clone = make_repository(tmp_path / "engine")
    clone.commit("Razor more at low depth", a="1")
    place = str(clone.folder)
    said = run(index_history(git=place, engine="Stockfish", database=flags))
    assert said == f"Read 1 new commits of {place}.\n"
    clone.commit("Razor less", a="2")
    said = run(index_history(git=place, engine="Stockfish", database=flags))
    assert said == f"Read 1 new commits of {place}.\n"

    size, behind, *rows = run(show_index(database=flags)).splitlines()
    assert behind == "Behind by 0 group commits and 0 other documents."
    assert rows[-1].split()[:3] == ["Stockfish", place, "2"]
    assert run(rebuild_index(database=flags)) == f"Indexed {size}\n"

    said = run(index_history(git=place, engine="Stockfish", remove=True, database=flags))
    assert said == f"Removed 2 commits of {place}.\n"
    assert "Stockfish" not in run(show_index(database=flags))


def test_a_clone_goes_by_the_address_it_was_cloned_from(
    flags: DatabaseSettings, run: Run, tmp_path: Path
) -> None:
    clone = make_repository(tmp_path / "engine")
    clone.commit("One", a="1")
    clone.git("remote", "add", "origin", "https://example.org/a/b.git")
    said = run(index_history(git=str(clone.folder), database=flags))
    assert said == "Read 1 new commits of https://example.org/a/b.\n"


@pytest.mark.parametrize(
    ("git", "engine", "why"),
    [
        ("nowhere", "", "neither a folder nor an address"),
        ("nowhere", "Nobody", "There is no engine Nobody"),
        ("http://127.0.0.1/x", "", "this server fetches by https, not by http"),
    ],
)
def test_what_cannot_be_indexed_is_told(
    flags: DatabaseSettings, run: Run, git: str, engine: str, why: str
) -> None:
    with pytest.raises(BadArgument, match=why):
        run(index_history(git=git, engine=engine, database=flags))
