"""A command that is sent twice is carried out once, in PostgreSQL and in its twin."""

import asyncio
from dataclasses import replace

import pytest

from rookery.core.model.events import Action
from rookery.core.model.run import NotYours
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.terms import Store
from rookery.server.http.command_keys import CommandKey, KeyReused, command_key_scope
from tests.makers import BOSS, OWNER, make_run, run_id
from tests.storage.farm.test_purges import fleet_on

pytestmark = pytest.mark.anyio

RUN = make_run(approved=False)


async def stop(fleet: Fleet, key: CommandKey, message: str = "") -> None:
    with command_key_scope(key):
        await fleet.commands.stop(RUN.id, OWNER, message)


async def count(store: Store, action: Action) -> int:
    return [each.action for each in await store.reads.events(50)].count(action)


async def test_the_next_primary_knows_what_was_carried_out(store: Store) -> None:
    async with fleet_on(store) as fleet:
        with command_key_scope(CommandKey("one")):
            assert await fleet.commands.submit(RUN, approver=BOSS.name) == RUN.id
    async with fleet_on(store) as fleet:
        with command_key_scope(CommandKey("one", repeated=True)):
            again = replace(RUN, id=run_id("b"))
            assert await fleet.commands.submit(again, approver=BOSS.name) == RUN.id
        assert await fleet.views.run(again.id) is None


async def test_the_next_primary_refuses_the_key_with_another_body(store: Store) -> None:
    async with fleet_on(store) as fleet:
        with command_key_scope(CommandKey("one", body="this")):
            await fleet.commands.submit(RUN, approver=BOSS.name)
    async with fleet_on(store) as fleet:
        again = replace(RUN, id=run_id("b"))
        with (
            pytest.raises(KeyReused),
            command_key_scope(CommandKey("one", repeated=True, body="that")),
        ):
            await fleet.commands.submit(again, approver=BOSS.name)
        with command_key_scope(CommandKey("one", repeated=True, body="this")):
            assert await fleet.commands.submit(again, approver=BOSS.name) == RUN.id


async def test_a_repeated_command_changes_nothing_and_gives_what_is_there(store: Store) -> None:
    async with fleet_on(store) as fleet:
        await fleet.commands.submit(RUN, approver=BOSS.name)
        await stop(fleet, CommandKey("stop"))
        await fleet.commands.reopen(RUN.id, BOSS)
        with command_key_scope(CommandKey("stop", repeated=True)):
            run = await fleet.commands.stop(RUN.id, OWNER)
        assert not run.status.finished
        assert await count(store, Action.STOP_RUN) == 1


async def test_two_that_come_at_once_are_one(store: Store) -> None:
    async with fleet_on(store) as fleet:
        runs = [replace(RUN, id=run_id(word)) for word in "ab"]

        async def submit(number: int) -> str:
            with command_key_scope(CommandKey("one", repeated=number > 0)):
                return await fleet.commands.submit(runs[number], approver=BOSS.name)

        first, second = await asyncio.gather(submit(0), submit(1))
        assert first == second
        assert len(await fleet.views.active()) == 1


async def test_what_was_refused_is_decided_anew(store: Store) -> None:
    async with fleet_on(store) as fleet:
        await fleet.commands.submit(RUN)
        for repeated in (False, True):
            with (
                pytest.raises(NotYours, match="only an approver may do this"),
                command_key_scope(CommandKey("one", repeated=repeated)),
            ):
                await fleet.commands.approve(RUN.id, OWNER)
        with command_key_scope(CommandKey("one", repeated=True)):
            assert (await fleet.commands.approve(RUN.id, BOSS)).status.approved


async def test_a_purge_is_begun_once(store: Store) -> None:
    async with fleet_on(store) as fleet:
        await fleet.commands.submit(RUN, approver=BOSS.name)
        await fleet.commands.stop(RUN.id, OWNER)
        with command_key_scope(CommandKey("one")):
            assert not (await fleet.purges.purge(RUN.id, OWNER)).under_way
        with command_key_scope(CommandKey("one", repeated=True)):
            assert (await fleet.purges.purge(RUN.id, OWNER)).under_way


async def test_what_goes_on_by_itself_takes_no_key_along(store: Store) -> None:
    key = CommandKey("one")
    async with fleet_on(store) as fleet:

        async def submit_later() -> None:
            await fleet.commands.submit(RUN)

        with command_key_scope(key):
            fleet.primary.spawn(submit_later())
        await asyncio.sleep(0.05)
        assert not key.used
