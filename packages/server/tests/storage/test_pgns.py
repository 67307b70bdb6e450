"""Rows of uploaded games, in PostgreSQL."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.protocol.games import Ending, Game, Outcome
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.files.blobs import FolderBlobs, read_blob, write_blob
from rookery.server.files.games import (
    GameRows,
    GameSpans,
    GameStore,
    GameSum,
    GameUpload,
    StoredGame,
    read_spans,
)
from rookery.server.settings import Settings
from tests.database import pool_on
from tests.fakes import HandClock
from tests.makers import make_plan, make_run
from tests.storage.farm.stores import changed, finished, kept, opened
from tests.twins.files import MemoryGames
from tests.unit.farm.memory_farm import open_memory_farm

pytestmark = pytest.mark.anyio

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RUN = "a" * 24


def pgn(task: int, blob: str, at: datetime = NOW) -> GameUpload:
    return GameUpload(RUN, task, blob, 10, at)


async def test_uploads_come_back_task_by_task(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        rows = GameRows(pool, queries)
        for task, blob in ((2, "c"), (1, "a"), (1, "b")):
            await rows.add(pgn(task, blob), ())
        assert await rows.of_task(RUN, 1) == (pgn(1, "a"), pgn(1, "b"))
        assert [each.blob for each in await rows.of_run(RUN)] == ["a", "b", "c"]
        assert await rows.find_known(["a", "x"]) == {"a"}
        await rows.forget(["a"])
        assert await rows.find_known(["a", "b"]) == {"b"}


async def test_games_are_kept_for_their_time(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        rows = GameRows(pool, queries)
        await rows.add(pgn(1, "old", NOW - timedelta(days=11)), ())
        await rows.add(pgn(1, "new", NOW - timedelta(days=9)), ())
        assert [each.blob for each in await rows.find_expired(NOW, 10, GameSpans())] == ["old"]


async def test_games_are_added_up_by_run_and_found_by_number(
    database: Target, queries: Queries
) -> None:
    won = Game(Outcome.WHITE, Ending.NORMAL, True, 80, b"12345678", 0)
    drawn = Game(Outcome.DRAW, Ending.ADJUDICATION, False, 60, b"abcdefgh", 900)
    async with pool_on(database) as pool:
        rows = GameRows(pool, queries)
        await rows.add(pgn(1, "a"), (won, drawn))
        await rows.add(pgn(2, "b", NOW + timedelta(hours=1)), (won,))
        await rows.forget(["a"])
        assert await rows.list_sums(RUN) == (
            GameSum(Outcome.WHITE, Ending.NORMAL, True, 2, 160),
            GameSum(Outcome.DRAW, Ending.ADJUDICATION, False, 1, 60),
        )
        assert await rows.list_sums("b" * 24) == ()
        assert await rows.find_game(RUN, 1, 1) == StoredGame(drawn, "")
        assert await rows.find_game(RUN, 2, 0) == StoredGame(won, "b")
        assert await rows.find_game(RUN, 2, 1) is None
        found = [(each.task, each.blob) for each in await rows.list_latest(RUN, 2)]
        assert found == [(2, "b"), (1, ""), (1, "")]
        assert len(await rows.list_latest(RUN, 1)) == 1
        assert await rows.find_tasks(RUN, [1, 2, 3]) == {2}
        assert [each.blob for each in await rows.find_latest(RUN, 5)] == ["b"]


async def test_what_is_known_of_games_outlives_them(database: Target, queries: Queries) -> None:
    won = Game(Outcome.WHITE, Ending.NORMAL, True, 81, b"12345678", 0)
    drawn = Game(Outcome.DRAW, Ending.ADJUDICATION, False, 65_535, b"abcdefgh", 9_000)
    async with pool_on(database) as pool:
        rows = GameRows(pool, queries)
        await rows.add(pgn(1, "a"), (won, drawn))
        await rows.add(pgn(1, "b"), (won,))
        await rows.forget(["a"])
        assert await rows.list_games(RUN, 1) == (won, drawn, won)
        assert await rows.list_games(RUN, 2) == ()


@pytest.mark.parametrize("kind", ["memory", "postgres"])
async def test_the_games_of_a_run_are_numbered_over_its_uploads(
    kind: str, database: Target, queries: Queries
) -> None:
    games = [Game(Outcome.DRAW, Ending.NORMAL, True, plies, b"12345678", 0) for plies in range(9)]
    async with pool_on(database) as pool:
        rows = MemoryGames() if kind == "memory" else GameRows(pool, queries)
        await rows.add(pgn(2, "a"), games[:3])
        await rows.add(pgn(1, "b"), games[3:5])
        await rows.add(pgn(2, "c", NOW + timedelta(seconds=1)), games[5:])
        await rows.add(replace(pgn(1, "d"), run="f" * 24), games)
        found = await rows.list_run_games(RUN, 1, 5)
    assert [(each.task, each.number, each.game.plies) for each in found] == [
        (1, 1, 4),
        (2, 0, 0),
        (2, 1, 1),
        (2, 2, 2),
        (2, 3, 5),
    ]


async def test_games_of_a_run_are_kept_from_its_end_on(database: Target, queries: Queries) -> None:
    run = finished("a", run=make_run("a"))
    run = replace(run, updated=NOW - timedelta(hours=23))
    async with opened(database, queries) as store, pool_on(database) as pool:
        await kept(store, changed(run))
        rows = GameRows(pool, queries)
        await rows.add(replace(pgn(1, "early", NOW - timedelta(days=3)), run=run.id), ())
        assert await rows.find_expired(NOW, 10, GameSpans()) == ()
        (late,) = await rows.find_expired(NOW + timedelta(hours=2), 10, GameSpans())
        assert late.blob == "early"


@pytest.mark.parametrize(
    ("settings", "days", "gone"),
    [
        (Settings.read({"ROOKERY_GAMES_DAYS": "3"}), 2, False),
        (Settings.read({"ROOKERY_GAMES_DAYS": "3"}), 4, True),
        (Settings.read({"ROOKERY_GAMES_DAYS": "0"}), 4000, False),
    ],
)
async def test_games_are_kept_for_as_many_days_as_the_settings_say(
    database: Target,
    queries: Queries,
    tmp_path: Path,
    settings: Settings,
    days: int,
    gone: bool,
) -> None:
    assert await is_swept(database, queries, tmp_path, settings, days, "10+0.1") == gone


@pytest.mark.parametrize(("days", "gone"), [(4, False), (6, True)])
async def test_long_games_are_kept_for_days_of_their_own(
    database: Target, queries: Queries, tmp_path: Path, days: int, gone: bool
) -> None:
    settings = Settings.read({"ROOKERY_GAMES_DAYS": "1", "ROOKERY_LONG_GAMES_DAYS": "5"})
    assert await is_swept(database, queries, tmp_path, settings, days, "60+0.6") == gone


@pytest.mark.parametrize(("days", "gone"), [(6, False), (8, True)])
async def test_games_of_a_test_that_goes_on_are_kept_from_their_upload(
    database: Target, queries: Queries, tmp_path: Path, days: int, gone: bool
) -> None:
    settings = Settings(played_games_days=7)
    swept = is_swept(database, queries, tmp_path, settings, days, "10+0.1", ended=False)
    assert await swept == gone


async def is_swept(
    database: Target,
    queries: Queries,
    folder: Path,
    settings: Settings,
    days: int,
    tc: str,
    *,
    ended: bool = True,
) -> bool:
    """Whether the sweep removes games of so many days ago."""
    threads, clock = Threads(), HandClock()
    past = clock.now() - timedelta(days=days)
    made = make_run("a", plan=make_plan(tc=tc))
    run = replace(finished("a", run=made) if ended else made, updated=past)
    spans = read_spans(settings.games_days, settings.long_games_days, settings.played_games_days)
    async with opened(database, queries) as store, pool_on(database) as pool:
        await kept(store, changed(run))
        rows, blobs = GameRows(pool, queries), FolderBlobs(folder, clock)
        blob = await threads.files(write_blob, blobs, b"games")
        await rows.add(replace(pgn(1, blob, past), run=run.id), ())
        await GameStore(rows, blobs, threads, clock, spans).sweep()
        return not await rows.of_run(run.id)


async def test_games_of_a_task_of_ones_own_are_stored_and_orphans_swept(tmp_path: Path) -> None:
    clock, threads, rows = HandClock(), Threads(), MemoryGames()
    blobs, games = FolderBlobs(tmp_path, clock), gzip.compress(b"games")
    async with open_memory_farm() as farm:
        await farm.submit()
        task = await farm.granted()
        store = GameStore(rows, blobs, threads, clock)
        await store.upload(task, games)
        orphan = await threads.io(write_blob, blobs, b"orphan")
        clock.move(days=100_000)
        await store.sweep()
    assert [await threads.io(read_blob, blobs, each.blob) for each in rows.rows] == [games]
    assert await threads.io(lambda: list(tmp_path.rglob(orphan))) == []
