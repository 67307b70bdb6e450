"""Filters on the log of actions."""

import json

import pytest

from rookery.core.protocol.actions import (
    ActionDocument,
    All,
    Among,
    Compare,
    Either,
    Order,
    matches,
    parse_action_filter,
)
from rookery.core.protocol.codec import BadFilter, NotAnObject, WireFault, encode

FAILED = ActionDocument(
    id="1", time=100.5, action="failed_task", username="alice", worker="w", task_id=7
)
NEWS = ActionDocument(id="2", time=200.0, action="new_run", username="bob", message="hi")


def chosen(filter_: object) -> list[str]:
    expression = parse_action_filter(json.dumps(filter_).encode())
    return [action.id for action in (FAILED, NEWS) if matches(expression, action)]


def test_a_filter_becomes_a_typed_expression() -> None:
    body = b'{"time":{"$gte":1,"$lt":5},"$or":[{"action":"a"},{"user":{"$nin":["x"]}}]}'
    window = All((Compare("time", Order.AT_LEAST, 1), Compare("time", Order.BELOW, 5)))
    either = Either((Compare("action", Order.EQUAL, "a"), Among("user", ("x",), negated=True)))
    assert parse_action_filter(body) == All((window, either))


@pytest.mark.parametrize(
    ("filter_", "ids"),
    [
        ({}, ["1", "2"]),
        ({"action": "failed_task"}, ["1"]),
        ({"action": {"$eq": "failed_task"}}, ["1"]),
        ({"_id": "2"}, ["2"]),
        ({"action": "failed_task", "username": "bob"}, []),
        ({"time": {"$gt": 100.5}}, ["2"]),
        ({"time": {"$gte": 100.5, "$lt": 200}}, ["1"]),
        ({"time": {"$lte": 200}}, ["1", "2"]),
        ({"username": {"$in": ["bob", "eve"]}}, ["2"]),
        ({"username": {"$nin": ["bob", "eve"]}}, ["1"]),
        ({"$or": [{"username": "bob"}, {"task_id": 7}]}, ["1", "2"]),
        ({"$and": [{"username": "bob"}, {"task_id": 7}]}, []),
        ({"task_id": {"$ne": 7}}, ["2"]),
        ({"task_id": {"$lt": 9}}, ["1"]),
        ({"message": {"$ne": "hi"}}, ["1"]),
        ({"message": {"$nin": ["hi"]}}, ["1"]),
        ({"message": {"$in": ["hi"]}}, ["2"]),
        ({"message": {"$regex": "h"}}, ["2"]),
        ({"message": {"$regex": ""}}, ["2"]),
        ({"action": {"$regex": "^new"}}, ["2"]),
        ({"action": {"$regex": "run$"}}, ["2"]),
        ({"action": {"$regex": "^run"}}, []),
        ({"action": {"$regex": "_.un|LED", "$options": "i"}}, ["1", "2"]),
        ({"action": {"$regex": "LED"}}, []),
        ({"action": {"$regex": "^f.*k$", "$ne": "x"}}, ["1"]),
        ({"username": {"$regex": "^alice$|^bo$"}}, ["1"]),
    ],
)
def test_a_filter_chooses(filter_: object, ids: list[str]) -> None:
    assert chosen(filter_) == ids


@pytest.mark.parametrize(
    ("filter_", "text"),
    [
        ({"$where": "1"}, "unknown field or operator '\\$where'"),
        ({"password": "x"}, "unknown field or operator 'password'"),
        ({"worker.name": "x"}, "unknown field"),
        ({"action": {"$exists": True}}, "unknown operator '\\$exists'"),
        ({"action": {"$options": "i"}}, "unknown operator '\\$options'"),
        ({"action": {"$regex": "a", "$options": "x"}}, "\\$options may be i and s"),
        ({"action": {"$regex": "a", "$options": 1}}, "\\$options may be i and s"),
        ({"action": {"$regex": 7}}, "action is compared with a text"),
        ({"time": {"$regex": "1"}}, "time is compared with a number"),
        ({"action": {"$regex": "(a)"}}, "a \\$regex of text"),
        ({"action": {"$regex": "a|" * 60}, "run": {"$regex": "a|" * 60}}, "more than 100 parts"),
        ({"action": {"$in": []}}, "\\$in wants a list"),
        ({"action": {"$in": "x"}}, "\\$in wants a list"),
        ({"action": {"$in": ["x"] * 201}}, "\\$in wants a list"),
        ({"$or": []}, "\\$or wants a list"),
        ({"$and": {"action": "x"}}, "\\$and wants a list"),
        ({"$and": ["x"]}, "expected an object"),
        ({"action": 7}, "action is compared with a text"),
        ({"action": None}, "action is compared with a text"),
        ({"action": {}}, "action is compared with a text"),
        ({"action": "x" * 1001}, "action is compared with a text"),
        ({"time": "now"}, "time is compared with a number"),
        ({"time": True}, "time is compared with a number"),
        ({"time": 10**30}, "time is compared with a number"),
        ({"task_id": 1.5}, "task_id is compared with an integer"),
        ({"task_id": 2**40}, "task_id is compared with an integer"),
        ({"$or": [{"action": "x"}] * 101}, "\\$or wants a list"),
        ({"$or": [{"$or": [{"action": "x"}] * 60}] * 2}, "more than 100 parts"),
        ({"$or": [{"$or": [{"$or": [{"$or": [{"$or": [{}]}]}]}]}]}, "more than 5 levels"),
    ],
)
def test_anything_else_is_a_named_fault(filter_: object, text: str) -> None:
    with pytest.raises(BadFilter, match=text):
        chosen(filter_)


def test_a_filter_is_an_object() -> None:
    with pytest.raises(NotAnObject):
        chosen([])


def test_a_filter_is_small() -> None:
    with pytest.raises(WireFault, match="longer than"):
        chosen({"action": "x" * 70_000})


def test_an_action_shows_the_fields_it_has() -> None:
    assert json.loads(encode(NEWS)) == {
        "_id": "2",
        "time": 200.0,
        "action": "new_run",
        "username": "bob",
        "message": "hi",
    }
