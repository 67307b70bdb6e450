"""`rookery files`: moves files from one place to another while servers go on, and checks them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from rookery.core.boundary.offload import Threads
from rookery.core.command import Column, command_group, option, print_table
from rookery.core.errors import Complaint
from rookery.server.commands.db import (
    THE_DATABASE,
    Database,
    DatabaseSettings,
    copy_progress,
    open_database,
)
from rookery.server.db.access import load_database_name
from rookery.server.disk import StorageAway
from rookery.server.files.checking import FileCheck
from rookery.server.files.copying import move_files
from rookery.server.files.ownership import take_place
from rookery.server.files.places import (
    FilePlace,
    find_place,
    make_folder,
    open_files,
    open_place,
    read_place,
)
from rookery.server.files.store import ORPHAN_SECONDS
from rookery.server.logs import SilentLog

MOST_SHOWN = 20

files = command_group(
    "files",
    "Move stored files to another place, check that none is missing, or claim them.",
    """\
  rookery files move --to 's3://farm/files?endpoint=https://s3.example.org'
  rookery files check""",
)


@files.command
async def move(
    *,
    to: Annotated[
        str,
        option(
            "a folder, or s3://… (default: from ROOKERY_FILES_OLD_URL to the present place)", "URL"
        ),
    ] = "",
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Copy every file to another place, also while servers run. May be interrupted and repeated:
    files that are there are not copied again."""
    async with _opened(database) as (opened, threads):
        source, target = await threads.io(_find_ends, opened, threads, to)
        database_name = await load_database_name(opened.pool, opened.queries)
        await threads.files(take_place, target.name, target.mark, database_name)
        print(f"From {source.name} to {target.name}.")
        with copy_progress("Copying files") as note:
            counts = await move_files(opened.pool, opened.queries, source, target, threads, note)
        print(
            f"Copied {counts.copied:,} files ({counts.copied_bytes:,} bytes),"
            f" each compared with its original; {counts.there:,} are there in all."
        )
        if counts.lost:
            shown = ", ".join(counts.lost[:MOST_SHOWN])
            raise Complaint(
                f"{len(counts.lost)} files that the database knows are not in the source: {shown}"
            )
        _explain_next(opened, to)


def _find_ends(opened: Database, threads: Threads, to: str) -> tuple[FilePlace, FilePlace]:
    settings, clock, log = opened.settings, opened.accounts.clock, SilentLog()
    here = find_place(settings)
    if to:
        source, target = here, read_place(to, named="--to")
    elif settings.files_old_url:
        source, target = read_place(settings.files_old_url, named="ROOKERY_FILES_OLD_URL"), here
    else:
        raise Complaint(
            "Give --to, or set ROOKERY_FILES_OLD_URL to the place that the files were in."
        )
    if source == target:
        raise Complaint(f"The files are in {source} already.")
    make_folder(target)
    ends = [open_place(place, settings, threads, clock, log) for place in (source, target)]
    return ends[0], ends[1]


def _explain_next(opened: Database, to: str) -> None:
    if not to:
        print("Everything is here: ROOKERY_FILES_OLD_URL can be taken out of the settings.")
        return
    before = opened.settings.files_url or find_place(opened.settings)
    print(
        "Now set for every server, and restart the servers one after the other:\n"
        f"  ROOKERY_FILES_URL={before}\n"
        f"  ROOKERY_FILES_OLD_URL={to}\n"
        "When all of them read from both places (one server alone needs no such round), set\n"
        f"  ROOKERY_FILES_URL={to}\n"
        f"  ROOKERY_FILES_OLD_URL={before}\n"
        "and restart them again. Then run `rookery files move` once more, for files that were"
        " uploaded meanwhile."
    )


@files.command
async def claim(*, database: DatabaseSettings = THE_DATABASE) -> None:
    """Mark the stored files as this database's, for example after it was restored elsewhere.

    Servers remove nothing from a place that another database has marked. Two farms must never share
    a place: each removes files that it does not know.
    """
    async with _opened(database) as (opened, threads):
        clock, settings = opened.accounts.clock, opened.settings
        place = open_place(find_place(settings), settings, threads, clock, SilentLog())
        name = await load_database_name(opened.pool, opened.queries)
        if not name:
            raise Complaint(
                "The database's identity can't be read: grant its account the right to execute"
                " pg_control_system()."
            )
        before = await threads.files(place.mark.read)
        await threads.files(place.mark.write, name)
    if before in {"", name}:
        print(f"The files in {place.name} belong to this database ({name}).")
    else:
        print(f"The files in {place.name} belonged to {before}, and belong to this database now.")


@files.command
async def check(
    *,
    contents: Annotated[
        bool, option("read every net, book, program and document, and compare its digest")
    ] = False,
    database: DatabaseSettings = THE_DATABASE,
) -> int:
    """Check that no file is missing and each has its size; exit code 1 if one is not as it
    should be."""
    async with _opened(database) as (opened, threads):
        clock = opened.accounts.clock
        place = await threads.io(open_files, opened.settings, threads, clock, SilentLog())
        files_check = FileCheck(opened.pool, opened.queries, place, threads, contents=contents)
        kinds = [each async for each in files_check.check(ORPHAN_SECONDS)]
    columns: list[Column] = [
        ("kind", "{.kind}"),
        ("in the database", "{.named:,}"),
        ("bytes", "{.bytes:,}"),
        ("missing", lambda each: f"{len(each.missing):,}"),
        ("damaged", lambda each: f"{len(each.damaged):,}"),
        ("not in the database", lambda each: f"{len(each.orphans):,}"),
    ]
    print_table(columns, kinds)
    missing = _tell("missing", [f"{each.kind}/{key}" for each in kinds for key in each.missing])
    damaged = _tell("damaged", [f"{each.kind}/{key}" for each in kinds for key in each.damaged])
    return int(missing or damaged)


def _tell(what: str, names: list[str]) -> bool:
    for name in names[:MOST_SHOWN]:
        print(f"{what}: {name}")
    if len(names) > MOST_SHOWN:
        print(f"and {len(names) - MOST_SHOWN:,} more")
    return bool(names)


@asynccontextmanager
async def _opened(flags: DatabaseSettings) -> AsyncIterator[tuple[Database, Threads]]:
    """Yield the database, and threads for files. Unavailable storage is reported as a sentence."""
    try:
        async with open_database(flags) as opened:
            yield opened, Threads()
    except StorageAway as error:
        raise Complaint(f"The storage of files is away: {error}.") from None
