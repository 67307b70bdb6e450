"""A fleet plays on over two servers while the primary dies in every way: the ledger is exact."""

from pathlib import Path

import pytest

from rookery.server.db.target import Target
from tests.faults.several_servers import Strike, several_servers
from tests.faults.waiting_machines import WaitingMachines
from tests.takeovers.test_instances import TAKEOVER_SECONDS

pytestmark = pytest.mark.anyio

GAMES = 100
PEOPLE = 3
STEP_DOWNS = 4


async def test_a_step_down_fails_no_call_and_loses_nothing(
    database: Target, tmp_path: Path, may_block_the_loop: None
) -> None:
    """The books are audited on this very loop, which serves nobody."""
    async with several_servers(database, tmp_path, 2, runs=4, seed=1) as farm:
        async with farm.fleet.at_work(10):
            for _ in range(2):
                primary, _ = await farm.find_primary()
                with farm.calling_only(primary):
                    await farm.strike(Strike.STEPPED_DOWN)
            await farm.fleet.wait_for_games(GAMES)
        audit = await farm.audit()
        assert (audit.wrong, farm.lines.refused) == ((), 0)


async def test_a_step_down_fails_no_command_and_no_machine_that_waits(
    database: Target, tmp_path: Path, may_block_the_loop: None
) -> None:
    """Of those who call both servers, without a pause."""
    async with several_servers(database, tmp_path, 2, runs=2, seed=1) as farm:
        waiting = WaitingMachines(farm, 6)
        async with farm.at_work(4, *[farm.command] * PEOPLE, waiting.wait):
            for _ in range(STEP_DOWNS):
                await farm.strike(Strike.STEPPED_DOWN)
        assert (farm.lines.refused, farm.refused, farm.repeated, waiting.wrong) == (0, 0, 0, 0)
        assert await farm.people.find_wrong() == []
        print(len(farm.people.sent), "commands,", waiting.told, "waits of machines")


async def test_the_books_balance_though_the_primary_is_stopped_cut_off_and_killed(
    database: Target, tmp_path: Path, may_block_the_loop: None
) -> None:
    """The books are audited on this very loop, which serves nobody."""
    async with several_servers(database, tmp_path, 2, runs=4, seed=1) as farm:
        async with farm.fleet.at_work(10):
            strikes = (Strike.STOPPED, Strike.CUT_OFF, Strike.KILLED)
            taken = [await farm.strike(each) for each in strikes]
        audit = await farm.audit()
        assert audit.wrong == ()
        assert max(taken) < TAKEOVER_SECONDS, taken
        print("taken over after", [round(each, 2) for each in taken])
