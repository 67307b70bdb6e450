"""Replays a sequential test from the rows of counted reports, in their order.

The jumps of the ratio depend on the order of updates, which the sums do not show. The rows of
provenance do: there is one for every counted report of a worker that sends its provenance, numbered
in the order of counting. The ledger has the content of the reports.
"""

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
from asyncpg.connect_utils import SessionAttribute
from msgspec.structs import asdict

from rookery.core.model.kinds import SprtTest
from rookery.core.model.task import NOTHING
from rookery.core.stats.sprt import EloModel, Sprt
from rookery.server.db.embedded import folder as sockets
from rookery.server.db.embedded.folder import Layout
from tests.fleet.ledger import Ledger

Counted = tuple[int, int]
"""A task, and its number of new games."""
READ_WRITE = SessionAttribute.read_write
IN_ORDER = "SELECT task, games FROM provenance WHERE run = $1 ORDER BY id"


async def counted(where: Path | str, run_id: str) -> list[Counted]:
    """The counted reports of a run, first to last; from the database of a data folder or URL."""
    if isinstance(where, Path):
        folder = await asyncio.to_thread(sockets.recorded, Layout(where))
        where = f"postgresql://rookery@/rookery?host={quote(str(folder))}&port={sockets.PORT}"
    connection = await asyncpg.connect(where, password="", target_session_attrs=READ_WRITE)
    try:
        return [(row["task"], row["games"]) for row in await connection.fetch(IN_ORDER, run_id)]
    finally:
        await connection.close()


def spec_of(shown: dict[str, Any]) -> Sprt:
    return Sprt(
        shown["elo0"],
        shown["elo1"],
        EloModel(shown["elo_model"]),
        shown["alpha"],
        shown["beta"],
        shown["batch_size"],
    )


def replayed(rows: list[Counted], run_id: str, spec: Sprt, ledger: Ledger) -> SprtTest:
    """The test after all these reports."""
    total, kind = NOTHING, SprtTest(spec)
    games: defaultdict[int, int] = defaultdict(int)
    for task, more in rows:
        reports = ledger.entries[run_id, task].reports
        before = reports[games[task]] if games[task] else NOTHING
        games[task] += more
        total = total + (reports[games[task]] - before)
        kind = kind.rejudged(total)
    return kind


def disagreements(
    rows: list[Counted], run_id: str, document: dict[str, Any], ledger: Ledger
) -> list[str]:
    """The differences between a run's document and the replay, to the last digit."""
    shown = document["args"]["sprt"]
    state = replayed(rows, run_id, spec_of(shown), ledger).state
    compared = {
        "llr": (shown["llr"], state.llr),
        "state": (shown["state"], state.verdict.value),
        "overshoot": (shown.get("overshoot"), state.overshoot and asdict(state.overshoot)),
    }
    return [
        f"{name} {here} is not {there}" for name, (here, there) in compared.items() if here != there
    ]
