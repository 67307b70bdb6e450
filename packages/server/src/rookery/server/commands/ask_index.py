"""`rookery ask index`, `rebuild` and `status`: the index that answers questions. They work on the
database, whether a server runs or not."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.command import BadArgument, Column, option, print_table
from rookery.core.model.engine import BUILT_IN, source_address
from rookery.server.app.parts import make_git
from rookery.server.ask.history import (
    FOLDER,
    CommitLog,
    GitHistories,
    Histories,
    HistoryRows,
    IndexedHistory,
)
from rookery.server.ask.indexing import CorpusRows, CursorMoved, Indexer, read_doc_pages
from rookery.server.ask.passage_index import PassageIndex
from rookery.server.ask.words import read_stop_words
from rookery.server.commands.db import THE_DATABASE, Database, DatabaseSettings, open_database
from rookery.server.db.lease import Lease
from rookery.server.engines.engines import EngineRows
from rookery.server.sources.commits import SourceError

AGAIN_SECONDS = 1.0
Tell = Callable[[int], object]


async def index_history(
    *,
    git: Annotated[str, option("a clone on this machine, or the address of one", "PATH|URL")],
    engine: Annotated[str, option("engine that the repository belongs to", "NAME")] = "",
    remove: Annotated[bool, option("remove the repository's commits again")] = False,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Add a repository's commits to what questions search.

    Only what is new since the last time is read. The commits of an engine's history are found by
    those who may see the engine, others by everybody."""
    async with open_database(database) as opened:
        await _check_engine(opened, engine)
        rows, threads = HistoryRows(opened.pool, opened.queries), Threads()
        reader = GitHistories(opened.settings.data / FOLDER, make_git(opened.settings))
        source = await threads.io(_find_source, reader, git)
        history = await _find_history(rows, engine, source.repository)
        if remove:
            await rows.remove(history)
            await _catch_up(opened, "Removing")
            print(f"Removed {history.commits:,} commits of {source.repository}.")
            return
        read = partial(_read, reader, source)
        try:
            with _progress("Reading commits") as tell:
                added = await Histories(rows, threads, SystemClock()).update(history, read, tell)
        except SourceError as why:
            raise BadArgument(f"The history can't be read: {why}.") from None
        print(f"Read {added:,} new commits of {source.repository}.")
        await _catch_up(opened, "Indexing")


async def rebuild_index(*, database: DatabaseSettings = THE_DATABASE) -> None:
    """Index everything from scratch; until that is done, questions find only a part."""
    async with open_database(database) as opened:
        indexer = _make_indexer(opened)
        await indexer.rows.begin_anew()
        await _catch_up(opened, "Indexing")
        size = await indexer.index.measure()
    print(f"Indexed {size.documents:,} documents in {size.passages:,} passages.")


async def show_index(*, database: DatabaseSettings = THE_DATABASE) -> None:
    """Show what is indexed, and how far the index is behind."""
    async with open_database(database) as opened:
        indexer = _make_indexer(opened)
        size, lag = await indexer.index.measure(), await indexer.rows.lag()
        histories = await HistoryRows(opened.pool, opened.queries).list_all()
    print(f"{size.documents:,} documents in {size.passages:,} passages.")
    print(f"Behind by {lag.commits:,} group commits and {lag.documents:,} other documents.")
    columns: list[Column] = [
        ("engine", lambda each: each.engine or "-"),
        ("repository", "{.repository}"),
        ("commits", "{.commits:,}"),
        ("last look", "{.looked:%Y-%m-%d %H:%M}"),
        ("problem", "{.problem}"),
    ]
    if histories:
        print_table(columns, histories)


def _make_indexer(opened: Database) -> Indexer:
    threads, pool, queries = Threads(), opened.pool, opened.queries
    index = PassageIndex(pool, queries, read_stop_words(), threads.cpu)
    rows = CorpusRows(pool, queries)
    return Indexer(rows, index, threads, SystemClock(), read_pages=read_doc_pages)


async def _catch_up(opened: Database, what: str) -> None:
    """Index what is left, or wait until the running server has done so."""
    indexer = _make_indexer(opened)
    lease = Lease(opened.pool, opened.queries, instance="command", address="")
    with _progress(what) as tell:
        left = await _count_left(indexer)
        while left:
            if (await lease.read()).live:
                await asyncio.sleep(AGAIN_SECONDS)
                tell(left - await _count_left(indexer))
            else:
                with contextlib.suppress(CursorMoved):
                    await indexer.catch_up(tell)
            left = await _count_left(indexer)


async def _count_left(indexer: Indexer) -> int:
    lag = await indexer.rows.lag()
    return lag.commits + lag.documents


async def _check_engine(opened: Database, engine: str) -> None:
    """Raise BadArgument unless the engine exists."""
    stored = await EngineRows(opened.pool, opened.queries).list_all()
    known = {each.record.name for each in stored if not each.removed}
    if engine and engine not in known | {record.name for record in BUILT_IN}:
        raise BadArgument(f"There is no engine {engine}.")


@dataclass(frozen=True, slots=True)
class HistorySource:
    """Where a history is read, and the repository that it belongs to."""

    repository: str
    clone: Path | None = None


def _find_source(reader: GitHistories, git: str) -> HistorySource:
    """Return the source of a history. A local clone belongs to the address it was cloned from, if
    people can open that. It blocks, and raises BadArgument."""
    folder, address = Path(git).expanduser(), source_address(git)
    if folder.is_dir():
        origin = source_address(reader.find_origin(folder))
        known = origin if origin.startswith("https://") else str(folder.resolve())
        return HistorySource(known, folder.resolve())
    if "://" not in address:
        raise BadArgument(f"{git} is neither a folder nor an address.")
    return HistorySource(address)


async def _find_history(rows: HistoryRows, engine: str, repository: str) -> IndexedHistory:
    found = [each for each in await rows.list_all() if each.engine == engine]
    known = {each.repository: each for each in found}
    new = IndexedHistory(engine, repository, False, "", SystemClock().now())
    return known.get(repository, new)


def _read(reader: GitHistories, source: HistorySource, head: str) -> CommitLog:
    if source.clone is not None:
        return reader.read_local(source.clone, head)
    return reader.read(source.repository, head, known=True)


@contextmanager
def _progress(what: str) -> Iterator[Tell]:
    """Show on a terminal how many are done, and the time so far."""
    columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed:,.0f}"))
    console = Console(stderr=True)
    with Progress(
        *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(what, total=None)
        yield lambda count: progress.advance(task, count)
