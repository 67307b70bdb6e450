"""Backups in PostgreSQL's own format: taken while the server runs, restored whole or not at all."""

import asyncio
import os
import re
import shutil
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.core.errors import describe_exit
from rookery.server.db.connecting import connect
from rookery.server.db.migrations import HAS_EXTENSION, Migration
from rookery.server.db.pool import CONNECT_SECONDS
from rookery.server.db.target import Problem, Target, sync

SQL = Path(__file__).parent / "sql"
INDEX = re.compile(r"CREATE INDEX CONCURRENTLY IF NOT EXISTS (\w+)")
# Reads only the catalog, so it works on any database, even one that is not ours.
OCCUPIED = """
SELECT count(*) FROM pg_class
WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
"""


BACKUP_FAILED = "The backup was not written: {reason}."


RESTORE_FAILED = "Nothing was restored, the database is as it was: {reason}."


class Programs:
    """PostgreSQL's client programs, run on the loop with a password that `ps` does not show."""

    def __init__(self, folder: Path, environment: Mapping[str, str], threads: Threads) -> None:
        self._folder = folder
        self._environment = environment
        self.threads = threads

    async def run(self, target: Target, name: str, *arguments: str) -> str:
        """Run a program; return its error message, or an empty text."""
        process = await asyncio.create_subprocess_exec(
            str(self._folder / name),
            *arguments,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            env={**self._environment, **target.program_environment},
        )
        try:
            _, words = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        if not (code := process.returncode):
            return ""
        return _complaint(words.decode(errors="replace")) or f"it {describe_exit(code)}"


async def backup(
    target: Target, file: Path, programs: Programs, *, snapshot: str | None = None
) -> int:
    """Write a backup under a temporary name, rename it when it is complete, and return its size.
    `snapshot` is the id of a snapshot that a transaction has exported."""
    draft = file.with_name(f"{file.name}.unfinished")
    options = ["--format=custom", "--no-owner", "--no-privileges", f"--file={draft}"]
    if snapshot is not None:
        options.append(f"--snapshot={snapshot}")
    try:
        await programs.threads.io(_make_private, draft)
        if words := await programs.run(target, "pg_dump", *options, f"--dbname={target.dsn}"):
            raise Problem(BACKUP_FAILED, reason=words)
        return await programs.threads.io(_settle, draft, file)
    except OSError as error:
        raise Problem(BACKUP_FAILED, reason=f"{file}: {error.strerror}") from None
    finally:
        await programs.threads.io(draft.unlink, missing_ok=True)


async def restore(
    target: Target,
    file: Path,
    programs: Programs,
    *,
    known: Sequence[Migration],
    force: bool = False,
) -> None:
    """Replace the database by a backup whose schema is one of ours, in one transaction."""
    await check_place(target, force=force)
    folder = await programs.threads.io(tempfile.mkdtemp, prefix="rookery-restore-")
    try:
        script, left_out = Path(folder) / "backup.sql", await _list_left_out(target, known)
        words = await _write_script(target, file, script, programs, left_out)
        if not words:
            session = _session(target, script, known, left_out)
            words = await programs.run(target, "psql", *session)
    finally:
        await programs.threads.io(shutil.rmtree, folder)
    if words:
        raise Problem(RESTORE_FAILED, reason=words)


async def _list_left_out(target: Target, known: Sequence[Migration]) -> list[Migration]:
    """Return the migrations whose indexes need an extension that is not available here."""
    connection = await connect(target, seconds=CONNECT_SECONDS)
    try:
        return [
            migration
            for migration in known
            if migration.extension
            and not await connection.fetchval(HAS_EXTENSION, migration.extension)
        ]
    finally:
        await connection.close()


async def _write_script(
    target: Target, file: Path, script: Path, programs: Programs, left_out: Sequence[Migration]
) -> str:
    """Write a backup as SQL, without the indexes in `left_out`; return an error message, or an
    empty text."""
    options = ["--no-owner", "--no-privileges", f"--file={script}"]
    if left_out:
        content = script.with_name("content")
        words = await programs.run(target, "pg_restore", "--list", f"--file={content}", str(file))
        if words:
            return words
        await programs.threads.io(_strike_out, content, left_out)
        options.append(f"--use-list={content}")
    return await programs.run(target, "pg_restore", *options, str(file))


def _strike_out(content: Path, left_out: Sequence[Migration]) -> None:
    """Remove extensions and the indexes that need them from a backup's table of contents."""
    names = {f" EXTENSION - {each.extension} " for each in left_out}
    names |= {f" COMMENT - EXTENSION {each.extension} " for each in left_out}
    names |= {f" INDEX public {name} " for each in left_out for name in INDEX.findall(each.sql)}
    lines = content.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not any(name in f"{line} " for name in names)]
    content.write_text("\n".join(kept) + "\n", encoding="utf-8")


def _session(
    target: Target, script: Path, known: Sequence[Migration], left_out: Sequence[Migration]
) -> list[str]:
    files = (SQL / "restore_before.sql", script, SQL / "restore_after.sql")
    return [
        *("--no-psqlrc", "--quiet", "--single-transaction"),
        "--set=ON_ERROR_STOP=1",
        f"--set=known={known[-1].number}",
        f"--set=baseline={known[0].checksum}",
        f"--set=left_out={{{','.join(str(each.number) for each in left_out)}}}",
        *(f"--file={path}" for path in files),
        f"--dbname={target.dsn}",
    ]


async def check_place(target: Target, *, force: bool) -> None:
    """Raise a Problem if the database has tables, unless `force` allows replacing them."""
    connection = await connect(target, seconds=CONNECT_SECONDS)
    try:
        tables = await connection.fetchval(OCCUPIED)
        if tables and not force:
            raise Problem(
                "The database already holds {tables} tables, which restoring would replace, "
                "and a server that uses them would be cut off: give --force if that is what "
                "you want.",
                tables=tables,
            )
    finally:
        await connection.close()


def _complaint(words: str) -> str:
    """Return the line of a program's output that names the error."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    marked = [line for line in lines if "error:" in line or "ERROR:" in line]
    best = (marked or lines or [""])[0]
    for mark in ("error:", "ERROR:"):
        best = best.rpartition(mark)[2]
    return best.strip().rstrip(".")


def _make_private(draft: Path) -> None:
    """Create an empty file that only its owner may read, because a backup contains addresses,
    hashes and keys."""
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _settle(draft: Path, file: Path) -> int:
    """Sync a backup to the disk and rename it; return its size."""
    sync(draft)
    draft.replace(file)
    return file.stat().st_size
