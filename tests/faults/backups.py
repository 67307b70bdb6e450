"""Backups that are taken from a busy server and restored elsewhere, and the checks of their
content.

A backup shows one moment between its start and its end. So its tasks must be exactly those after
one of the group commits: with everything that was acknowledged before the backup began, and nothing
that had not been sent when it ended. The same holds for uploaded games and their files.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import asyncpg

from rookery.core.model.task import NOTHING
from rookery.server.db.embedded import folder as sockets
from rookery.server.db.embedded.folder import Layout
from rookery.server.files.backups import BackupFolder
from tests.commands import run_command
from tests.faults.server_campaign import Campaign
from tests.fleet.audit import audit_server
from tests.fleet.connections import Answer, Connections
from tests.fleet.fleet import SimulatedFleet
from tests.fleet.ledger import Entry, Key, Ledger
from tests.fleet.moments import Acknowledged, FarmRows, Sent, find_wrong, read_rows

DIGEST = """
SELECT coalesce(sum(hashtextextended(concat_ws(
    ' ', run, id, wins, losses, draws, crashes, time_losses, p0, p1, p2, p3, p4
), 0)::numeric), 0)::text FROM public.tasks
"""
WATCH = f"""
CREATE TABLE proof_moments (sequence bigint, digest text);
CREATE FUNCTION note_moment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.proof_moments VALUES (NEW.sequence, ({DIGEST}));
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER note_moment AFTER UPDATE ON commits DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION note_moment();
"""
"""SQL that notes the contents of all tasks at the end of every group commit."""
MOMENTS = "SELECT digest, max(sequence) AS sequence FROM proof_moments GROUP BY digest"
UPLOADS = "SELECT run, task, count(*) AS times FROM pgns GROUP BY run, task"
UPLOAD = "/api/upload_pgn"


class UploadingConnections(Connections):
    """Connections that note whose games were sent, and whose were accepted."""

    def __init__(self, before: Connections) -> None:
        super().__init__(token=before.token)
        self.move(before.port)
        self.sent: Counter[Key] = Counter()
        self.taken: Counter[Key] = Counter()

    async def _call(self, method: str, path: str, body: bytes, client: str) -> Answer:
        if path != UPLOAD:
            return await super()._call(method, path, body, client)
        key = _read_key(body)
        self.sent[key] += 1
        answer = await super()._call(method, path, body, client)
        self.taken[key] += "error" not in answer
        return answer


def _read_key(body: bytes) -> Key:
    said = json.loads(body)
    return said["run_id"], said["task_id"]


@dataclass(frozen=True, slots=True)
class TakenBackup:
    """A backup, with what was acknowledged when it began and what had been sent when it ended."""

    name: str
    said: str
    acknowledged: Acknowledged
    sent: Sent
    uploads_taken: Counter[Key]
    uploads_sent: Counter[Key]

    def games_sent(self, ledger: Ledger) -> int:
        """The most games that it may contain."""
        every = ((ledger.entries[key], count) for key, count in self.sent.tasks.items())
        return sum(max(list(entry.reports)[:count], default=0) for entry, count in every)


@dataclass(frozen=True, slots=True)
class Restored:
    """The findings about a restored backup."""

    wrong: tuple[str, ...]
    tasks: int
    games: int
    replayed: int
    uploads: int
    commit: int
    """The number of the group commit that it shows."""


async def succeed(settings: Mapping[str, str], data: Path, *words: str) -> str:
    """Runs a command, which must succeed, and returns its output."""
    run = partial(run_command, *words, data=data, settings=settings, first=True)
    done = await asyncio.to_thread(run)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def back_up(campaign: Campaign, lines: UploadingConnections, folder: Path) -> TakenBackup:
    """Makes a backup while workers are active."""
    ledger = campaign.fleet.ledger
    acknowledged, taken = Acknowledged.of(ledger), lines.taken.copy()
    said = await succeed(campaign.settings, campaign.data, "db", "backup", f"--folder={folder}")
    sent, uploads = Sent.of(ledger), lines.sent.copy()
    name = (await asyncio.to_thread(BackupFolder(folder).names))[-1]
    return TakenBackup(name, said.strip(), acknowledged, sent, taken, uploads)


async def restore(
    backup: TakenBackup,
    folder: Path,
    there: Path,
    settings: Mapping[str, str],
    fleet: SimulatedFleet,
    moments: Mapping[str, int],
) -> Restored:
    """Restores a backup elsewhere and starts a server on it, while no worker is active; compares it
    with the ledger."""
    words = ("db", "restore", f"--folder={folder}", f"--name={backup.name}")
    await succeed(settings, there, *words)
    restored = Campaign(there, fleet, settings=settings)
    try:
        await restored.start()
        rows, uploads, digest = await _read(there)
        ledger = _ledger_of(fleet.ledger, backup, rows)
        audit = await audit_server(fleet.lines, ledger, fleet.runs, there)
        missing = await _count_missing(settings, there)
    finally:
        await restored.finish()
    wrong = [*audit.wrong, *find_wrong(rows, backup.acknowledged, backup.sent, fleet.ledger)]
    wrong += _find_wrong_uploads(backup, uploads)
    wrong += [f"{missing} files are missing"] if missing else []
    wrong += [] if digest in moments else ["its tasks are those of no commit"]
    found = (audit.tasks, audit.games, audit.replayed, uploads.total(), moments.get(digest, 0))
    return Restored(tuple(wrong), *found)


async def watch_moments(data: Path) -> None:
    """Starts noting the tasks after each commit of the server on this folder."""
    async with _connected(data) as connection:
        await connection.execute(WATCH)


async def read_moments(data: Path) -> dict[str, int]:
    """The numbers of commits, by the contents of all tasks after them."""
    async with _connected(data) as connection:
        return {row["digest"]: row["sequence"] for row in await connection.fetch(MOMENTS)}


async def _read(data: Path) -> tuple[FarmRows, Counter[Key], str]:
    async with _connected(data) as connection:
        rows = await read_rows(connection)
        uploads = await connection.fetch(UPLOADS)
        digest = str(await connection.fetchval(DIGEST))
    return rows, Counter({(row["run"], row["task"]): row["times"] for row in uploads}), digest


@asynccontextmanager
async def _connected(data: Path) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    place = await asyncio.to_thread(sockets.recorded, Layout(data))
    connection = await asyncpg.connect(
        host=str(place), port=sockets.PORT, user="rookery", database="rookery", password=""
    )
    try:
        yield connection
    finally:
        await connection.close()


def _ledger_of(whole: Ledger, backup: TakenBackup, rows: FarmRows) -> Ledger:
    """A ledger with only what rows of that moment may contain."""
    ledger = Ledger()
    for key, entry in whole.entries.items():
        if key in backup.acknowledged.tasks or key in rows.tasks:
            known = backup.acknowledged.tasks.get(key, NOTHING)
            sent = list(entry.reports.values())[: backup.sent.tasks.get(key, 0)]
            later = [each for each in sent if each.games > known.games]
            ledger.entries[key] = Entry(
                entry.start, entry.games, known, later, entry.reports, entry.steps
            )
    return ledger


def _find_wrong_uploads(backup: TakenBackup, found: Counter[Key]) -> list[str]:
    wrong = []
    for key in backup.uploads_sent.keys() | found.keys():
        least, most = backup.uploads_taken[key], backup.uploads_sent[key]
        if not least <= found[key] <= most:
            wrong.append(f"{found[key]} uploads of {key}, not {least} to {most}")
    return wrong


async def _count_missing(settings: Mapping[str, str], data: Path) -> int:
    """The number of files that rows name but that do not exist."""
    said = await succeed(settings, data, "files", "check")
    lines = [line.split() for line in said.splitlines()[1:]]
    return sum(int(line[3].replace(",", "")) for line in lines)
