"""The log of actions: in order, and filtered as the filter language says."""

import dataclasses
import json
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rookery.core.model.events import Action, Event
from rookery.core.protocol.actions import (
    All,
    Compare,
    Expression,
    Mentions,
    Older,
    Order,
    document_of,
    matches,
    parse_action_filter,
)
from rookery.server.farm.commits import CommitQueue
from rookery.server.farm.read_values import FailureQuery, LogVisibility
from rookery.server.farm.rules.answers import Changes
from rookery.server.farm.store import FleetStore
from tests.makers import NOW, later, make_plan, make_run
from tests.storage.farm.stores import Store, changed, kept
from tests.storage.farm.strategies import events, filters

pytestmark = pytest.mark.anyio

EVERYTHING = All(())
FAILED = Event(
    action=Action.FAILED_TASK,
    at=NOW,
    actor="ann",
    run=make_run("a").id,
    run_name="a-1",
    task=3,
    worker="ann-4cores",
    message="no disk",
)
DELETED = Event(
    action=Action.DELETE_RUN, at=later(1), actor="bob", run=make_run("b").id, run_name="b-1"
)
STOPPED = replace(DELETED, action=Action.STOP_RUN, message="")


def logged(*events: Event) -> Changes:
    return Changes(events=events)


async def test_events_come_newest_first(store: Store) -> None:
    await kept(store, logged(DELETED, FAILED), logged(STOPPED))
    assert list(await store.reads.events(10)) == [STOPPED, DELETED, FAILED]
    assert list(await store.reads.events(1)) == [STOPPED]
    assert list(await store.reads.events(10, before=later(1))) == [FAILED]


async def test_a_line_has_the_fields_of_its_action(store: Store) -> None:
    await kept(store, logged(FAILED, DELETED, STOPPED))
    stopped, deleted, failed = await store.reads.actions(EVERYTHING)
    assert failed == replace(FAILED, id="1")
    assert deleted == replace(DELETED, id="2")
    assert stopped == replace(STOPPED, id="3")


async def test_at_most_so_many_lines_are_given(store: Store) -> None:
    await kept(store, logged(*[FAILED] * 5))
    assert [action.id for action in await store.reads.actions(EVERYTHING, limit=2)] == ["5", "4"]


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        ({"$regex": "^no"}, ["1"]),
        ({"$regex": "NO D.SK$", "$options": "i"}, ["1"]),
        ({"$regex": "NO"}, []),
        ({"$regex": "100%|disk"}, ["2", "1"]),
        ({"$regex": "0_"}, []),
        ({"$regex": "^.*o.*"}, ["2", "1"]),
    ],
)
async def test_a_pattern_means_the_same_to_the_database(
    store: Store, pattern: dict[str, str], ids: list[str]
) -> None:
    await kept(store, logged(FAILED, replace(FAILED, message="only 100% of it"), DELETED))
    wanted = parse_action_filter(json.dumps({"message": pattern}).encode())
    found = await store.reads.actions(wanted)
    assert [event.id for event in found] == ids
    assert all(matches(wanted, document_of(event)) for event in found)


async def test_actions_on_hidden_engines_are_left_out(store: Store) -> None:
    secret = make_run("b", make_plan(engine="Tiny"))
    await kept(store, changed(make_run("a"), secret), logged(FAILED, DELETED))
    found = await store.reads.actions(EVERYTHING, sight=LogVisibility(frozenset({"Tiny"})))
    assert [event.run for event in found] == [make_run("a").id]


@pytest.mark.parametrize("text", ["'; DROP TABLE actions; --", "\0", "$1", "\ud800"])
async def test_a_hostile_value_finds_nothing_and_harms_nothing(store: Store, text: str) -> None:
    await kept(store, logged(FAILED))
    assert await store.reads.actions(Compare("username", Order.EQUAL, text)) == ()
    assert len(await store.reads.actions(Compare("message", Order.UNEQUAL, text))) == 1


async def test_texts_that_postgres_refuses_do_not_make_a_commit_fail(store: Store) -> None:
    await kept(store, logged(replace(FAILED, message="a\0b\ud800c", actor="x\0")))
    assert len(await store.reads.actions(EVERYTHING)) == 1


@pytest.mark.parametrize("words", ["NO DISK", "ann-4", "o d"])
async def test_lines_are_found_by_words_in_any_of_their_texts(store: Store, words: str) -> None:
    await kept(store, logged(FAILED, DELETED))
    assert [event.actor for event in await store.reads.actions(Mentions(words))] == ["ann"]


@pytest.mark.parametrize("words", ["no_disk", "%", "\\", "'"])
async def test_words_are_no_pattern(store: Store, words: str) -> None:
    await kept(store, logged(FAILED, DELETED))
    assert await store.reads.actions(Mentions(words)) == ()


async def test_what_is_older_than_a_line_stands_behind_it(store: Store) -> None:
    await kept(store, logged(FAILED, FAILED, DELETED))
    place = Older(FAILED.at.timestamp(), 2)
    assert [event.id for event in await store.reads.actions(place)] == ["1"]


async def test_failures_that_say_the_same_but_for_numbers_are_one(store: Store) -> None:
    other = replace(FAILED, worker="bob-4cores-ab-cd", task=4, message="no disk 9", at=later(2))
    later_still = replace(other, task=5, message="no disk 10", at=later(3))
    await kept(store, changed(make_run("a")), logged(FAILED, other, later_still))
    query = FailureQuery(NOW, (Action.FAILED_TASK,))
    numbered, plain = await store.reads.failures(query)
    assert (numbered.count, numbered.machines, numbered.message) == (2, 1, "no disk 10")
    assert numbered.latest == (("bob-4cores-ab-cd", 5), ("bob-4cores-ab-cd", 4))
    assert (plain.count, plain.first) == (1, NOW)
    assert len(await store.reads.failures(dataclasses.replace(query, first=1))) == 1


async def test_failures_of_hidden_engines_are_left_out(store: Store) -> None:
    secret = make_run("a", make_plan(engine="Tiny"))
    await kept(store, changed(secret), logged(FAILED))
    sight = LogVisibility(frozenset({"Tiny"}))
    assert await store.reads.failures(FailureQuery(NOW, (Action.FAILED_TASK,), sight)) == ()


@pytest.fixture
async def commits(postgres_store: FleetStore) -> CommitQueue:
    return await postgres_store.take()


@settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(events, min_size=5, max_size=8), filters)
async def test_sql_chooses_what_the_filter_means(
    postgres_store: FleetStore, commits: CommitQueue, some: list[Event], wanted: Expression
) -> None:
    actions = partial(postgres_store.reads.actions, limit=10_000, sight=LogVisibility(person=None))
    first = len(await actions(EVERYTHING))
    await commits.wait_committed(commits.put(logged(*some)))
    log = [replace(event, id=str(first + number)) for number, event in enumerate(some, 1)]
    found = await actions(wanted)
    mine = {action for action in found if int(action.id) > first}
    assert mine == {event for event in log if matches(wanted, document_of(event))}
