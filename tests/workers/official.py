"""What the official worker sends and hears, from the contract; or from a recorded trace of it.

ROOKERY_OFFICIAL_TRACE may name a file of recorded exchanges, one JSON object a line.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.workers.fake_server import Body

TRACE = "ROOKERY_OFFICIAL_TRACE"
Shape = Any
"""A type's name, a list of shapes, or a dictionary of them."""

INFO: Shape = {
    "uname": "str",
    "architecture": ["str", "str"],
    "concurrency": "int",
    "max_memory": "int",
    "min_threads": "int",
    "username": "str",
    "version": "int",
    "python_version": ["int", "int", "int"],
    "gcc_version": ["int", "int", "int"],
    "compiler": "str",
    "unique_key": "str",
    "modified": "bool",
    "worker_arch": "str",
    "ARCH": "str",
    "nps": "float",
    "near_github_api_limit": "bool",
}
STATS: Shape = {
    **dict.fromkeys(("wins", "losses", "draws", "crashes", "time_losses"), "int"),
    "pentanomial": ["int"] * 5,
}
BATCH: Shape = dict.fromkeys(("num_games", "wins", "losses", "draws", "sig"), "int")
CALL: Shape = {"password": "str", "worker_info": INFO}
TASK: Shape = {**CALL, "run_id": "str", "task_id": "int"}
SHAPES: dict[str, list[Shape]] = {
    "request_version": [{"password": "str", "worker_info": {"username": "str"}}],
    "request_task": [CALL],
    "beat": [TASK],
    "update_task": [{**TASK, "stats": STATS}, {**TASK, "stats": STATS, "spsa": BATCH}],
    "request_spsa": [{**TASK, "stats": STATS}, {**TASK, "stats": STATS, "spsa": BATCH}],
    "failed_task": [{**TASK, "message": "str"}],
    "stop_run": [{**TASK, "message": "str"}],
    "upload_pgn": [{**TASK, "message": "str", "pgn": "str"}],
    "worker_log": [{**TASK, "message": "str"}, {**CALL, "message": "str"}],
}


def shape(value: object) -> Shape:
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shape(part) for part in value]
    return type(value).__name__


@dataclass(frozen=True)
class Scenario:
    """One task of the official worker: what it was told, and which calls it made in which order."""

    name: str
    task: Body
    spsa: Body
    calls: tuple[str, ...]


def _task(kind: Body, new_tag: str = "patch") -> Body:
    args = {
        "base_tag": "master",
        "new_tag": new_tag,
        "base_nets": [],
        "new_nets": [],
        "num_games": 8,
        "tc": "0.5+0.005",
        "new_tc": "0.5+0.005",
        "book": "openings_v1.epd",
        "book_depth": "8",
        "threads": 1,
        "resolved_base": "b" * 40,
        "resolved_new": "a" * 40,
        "msg_base": "base",
        "msg_new": "idea",
        "base_options": "Hash=16",
        "new_options": "Hash=16",
        "info": "",
        "base_signature": "1234",
        "new_signature": "1234",
        "username": "tester",
        "tests_repo": "https://github.com/tester/Stockfish",
        "auto_purge": False,
        "throughput": 100,
        "itp": 97.3,
        "priority": 0,
        "adjudication": True,
        **kind,
    }
    mine = {"num_games": 8, "start": 0}
    run = {"_id": "64e74776a170cb1f26fa3930", "args": args, "my_task": mine}
    return {"run": run, "task_id": 0}


VALUES: Body = {
    "task_alive": True,
    "w_params": [{"name": "P1", "value": 103.2, "c": 3.2, "R": 0.002, "flip": 1}],
    "b_params": [{"name": "P1", "value": 96.8}],
    "sig": 1_069_182_125,
}
BEGINNING = ("request_version", "request_task")
PLAYED = (*BEGINNING, "update_task", "upload_pgn")
FROM_CONTRACT = (
    Scenario("sprt", _task({"sprt": {"batch_size": 2, "state": "", "llr": 0}}), {}, PLAYED),
    Scenario("numgames", _task({}), {}, PLAYED),
    Scenario("spsa", _task({"spsa": {}}), VALUES, (*BEGINNING, "request_spsa", "update_task")),
    Scenario("badbench", _task({}, "badbench"), {}, (*BEGINNING, "stop_run")),
    Scenario("crash", _task({}, "crash"), {}, (*BEGINNING, "failed_task")),
)


def exchanges() -> list[Body]:
    """The recorded ones; none where nobody says where they are."""
    place = os.environ.get(TRACE)
    return [json.loads(line) for line in Path(place).read_text().splitlines()] if place else []


def scenarios() -> tuple[Scenario, ...]:
    recorded: dict[str, list[Body]] = {}
    for one in exchanges():
        if one["method"] == "POST":
            recorded.setdefault(one["scenario"], []).append(one)
    return tuple(_scenario(name, calls) for name, calls in recorded.items()) or FROM_CONTRACT


def _scenario(name: str, calls: list[Body]) -> Scenario:
    answers: dict[str, list[Body]] = {}
    for one in calls:
        answers.setdefault(call_of(one), []).append(one["response"])
    values = answers.get("request_spsa", [{}])[0]
    return Scenario(name, answers["request_task"][0], values, once_each(map(call_of, calls)))


def call_of(exchange: Body) -> str:
    return str(exchange["url"]).rpartition("/api/")[2]


def once_each(calls: Any) -> tuple[str, ...]:
    """The calls in the order of their first time: how often is a matter of batches."""
    return tuple(dict.fromkeys(calls))
