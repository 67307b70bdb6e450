"""A backup taken from a busy server, restored elsewhere: rows as the ledger allows for that moment,
and every file that they name."""

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from rookery.model.task import NOTHING, Results
from tests.bucket_server import CREDENTIALS, BucketServer
from tests.faults.server_campaign import Campaign, campaign_on
from tests.fleet.audit import _tasks, audit_server
from tests.fleet.ledger import Entry, Key, Ledger
from tests.fleet.worker import Faults
from tests.rookery_process import COMMAND, PROJECT, SIMULATED, environment

pytestmark = pytest.mark.anyio

WORKERS = 30


async def run_command(settings: Mapping[str, str], *words: str) -> str:
    """What a command says; it must succeed."""
    done = await asyncio.to_thread(
        subprocess.run,
        [*COMMAND, *words],
        cwd=PROJECT,
        env=environment(detect=False) | dict(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def count_games(settings: Mapping[str, str], data: Path) -> int:
    """Uploads of games that rows name; each has its file."""
    said = await run_command(settings, "files", "check", f"--data={data}")
    (line,) = [line.split() for line in said.splitlines() if line.startswith("games")]
    assert line[3] == "0", said
    return int(line[1].replace(",", ""))


def ledger_of_moment(whole: Ledger, before: Mapping[Key, Results], found: set[Key]) -> Ledger:
    """What may be in rows of a moment after `before`: of each task what was acknowledged then, or
    anything that was sent later."""
    ledger = Ledger()
    for key, entry in whole.entries.items():
        if key in before or key in found:
            known = before.get(key, NOTHING)
            later = [each for each in entry.reports.values() if each.games > known.games]
            ledger.entries[key] = Entry(
                entry.start, entry.games, known, later, entry.reports, entry.steps
            )
    return ledger


async def test_a_backup_of_a_busy_server_restores_to_what_the_ledger_allows(
    tmp_path: Path, bucket: BucketServer, may_block_the_loop: None
) -> None:
    """The books are audited on this very loop, which serves nobody."""
    backups, there = tmp_path / "backups", tmp_path / "there"
    settings = SIMULATED | CREDENTIALS | {"ROOKERY_FILES_URL": bucket.url()}
    async with campaign_on(tmp_path / "here", runs=4, more=settings) as campaign:
        fleet, here = campaign.fleet, campaign.data
        fleet.faults = Faults(games=0.8)
        async with fleet.at_work(WORKERS):
            await asyncio.sleep(4)
            uploads = await count_games(settings, here)
            before = {key: each.acknowledged for key, each in fleet.ledger.entries.items()}
            said = await run_command(
                settings, "db", "backup", f"--folder={backups}", f"--data={here}"
            )
            await asyncio.sleep(1)
        await asyncio.to_thread(campaign.finish)
        # The restored farm keeps its files in a folder.
        await run_command({}, "db", "restore", f"--folder={backups}", f"--data={there}")
        restored = Campaign(there, fleet)
        try:
            await restored.start()
            found = {
                (run, task.id) for run in fleet.runs for task in await _tasks(fleet.lines, run)
            }
            ledger = ledger_of_moment(fleet.ledger, before, found)
            audit = await audit_server(fleet.lines, ledger, fleet.runs, there)
            assert audit.wrong == ()
            assert audit.games >= sum(each.games for each in before.values()) > 0
            assert 0 < uploads <= await count_games({}, there)
        finally:
            await asyncio.to_thread(restored.finish)
    print(f"{said.strip()} {audit.tasks} tasks, {audit.games} games, {audit.replayed} replayed.")
