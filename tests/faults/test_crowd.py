"""A crowd with connections, addresses and users of its own: everybody is answered, and after a cold
start all come back without a password being hashed."""

from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.fleet.arrivals import evenly
from tests.fleet.crowd import Crowd, Mix
from tests.fleet.figures import Figures
from tests.fleet.lines import OwnLines
from tests.fleet.stage import CREDENTIALS, PASSWORD, staged

pytestmark = pytest.mark.anyio
WORKERS, USERS, SECONDS = 500, 10, 3.0
LONGEST_SECONDS = 60.0


@pytest.mark.parametrize("credentials", CREDENTIALS)
async def test_a_crowd_plays_and_comes_back_after_a_cold_start(
    tmp_path: Path, credentials: str
) -> None:
    data = tmp_path / "data"
    async with staged(data, users=USERS, runs=4, credentials=credentials) as stage:
        lines = OwnLines(stage.port)
        crowd = Crowd(lines, stage.ledger, Figures(), Mix().faster(100))
        workers = await stage.workers(WORKERS)
        crowd.return_all(workers, evenly(WORKERS, SECONDS).moments())
        await eventually(lambda: crowd.at_work == WORKERS, seconds=LONGEST_SECONDS)
        await crowd.stop()
        assert await stage.hashes() == (USERS if credentials == PASSWORD else 0)
        await stage.restart()
        lines.move(stage.port)
        given = len(stage.ledger.entries)
        crowd.return_all(workers, evenly(WORKERS, SECONDS).moments())
        all_given = given + WORKERS
        await eventually(lambda: len(stage.ledger.entries) >= all_given, seconds=LONGEST_SECONDS)
        await crowd.stop()
        lines.close()
        assert await stage.hashes() == 0
        assert not crowd.samples
        audit = await stage.campaign.audit()
        assert audit.wrong == ()
        assert audit.games == stage.ledger.acknowledged_games() > 0
