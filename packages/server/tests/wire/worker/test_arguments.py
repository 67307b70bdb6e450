"""What a test's arguments say reaches the worker that plays it."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rookery.core.model.plan import Draw, Resign
from rookery.core.protocol.worker_answers import TASK
from rookery.match.job import Adjudication
from rookery.worker.assignment import Assignment, match_setup, read_assignment
from tests.people import BORIS
from tests.twins.sites import make_user
from tests.wire.apis import Api, open_api
from tests.wire.worker.farm import Worker, worker_info

pytestmark = pytest.mark.anyio

OURS = {"version": "1", "os": "linux", "syzygy_men": 6}
FOLDERS = ("/tables",)
NET = "nn-0123456789ab.nnue"


async def assigned(**arguments: object) -> Assignment:
    """The task of a worker of ours."""
    async with open_api() as api:
        return await assigned_by(api, **arguments)


async def assigned_by(api: Api, **arguments: object) -> Assignment:
    await make_user(api.site, "wanda")
    await api.submitted(BORIS, **arguments)
    worker = Worker(api.visitor, worker_info("wanda", rookery=OURS))
    found = read_assignment(TASK.read(msgspec.json.encode(await worker.request_task())))
    assert found is not None
    return found


async def test_an_uploaded_program_is_what_the_worker_plays(tmp_path: Path) -> None:
    program = b"#!/bin/sh\n"
    digest = hashlib.sha256(program).hexdigest()
    async with open_api(files=tmp_path) as api:
        headers = dict(await api.headers(BORIS))
        await api.visitor.post("/api/v1/binaries?name=idea", content=program, headers=headers)
        unsaid = dict.fromkeys(("resolved_new", "new_signature", "tests_repo"))
        task = await assigned_by(api, new_binary=digest, **unsaid)
    assert (task.new.order.binary, task.base.order.binary) == (digest, "")


@pytest.mark.parametrize(
    ("said", "played", "value"),
    [
        ({"threads": 2}, lambda task: task.base.spec.options[0], ("Threads", "2")),
        ({"new_threads": 2}, lambda task: task.new.spec.options[0], ("Threads", "2")),
        ({"tc": "20+0.2"}, lambda task: task.base.spec.tc, "20+0.2"),
        ({"new_tc": "5+0.05"}, lambda task: task.new.spec.tc, "5+0.05"),
        ({"scaling": "off"}, lambda task: task.is_timed, False),
        ({"new_options": "Hash=8"}, lambda task: task.new.spec.options[-1], ("Hash", "8")),
        ({"new_uci": {"A b": "c d"}}, lambda task: task.new.spec.options[-1], ("A b", "c d")),
        ({"resolved_new": "c" * 40}, lambda task: task.new.order.commit, "c" * 40),
        ({"new_signature": "77"}, lambda task: task.new.order.signature, 77),
        (
            {"new_nets": [NET]},
            lambda task: task.new.order.nets,
            (NET,),
        ),
        ({"new_engine": "Fledgling"}, lambda task: task.new.order.record.name, "Fledgling"),
        (
            {"new_repo": "https://github.com/sven/fish"},
            lambda task: task.new.order.repository,
            "https://github.com/sven/fish",
        ),
        ({"pgn_detail": "moves"}, lambda task: task.plan.pgn_detail, "moves"),
        ({"book_depth": "3"}, lambda task: task.plan.book_depth, 3),
        ({"book": "UHO.pgn"}, lambda task: task.plan.book, "UHO.pgn"),
    ],
)
async def test_what_a_test_says_of_its_sides_reaches_the_worker(
    said: dict[str, object], played: Callable[[Assignment], object], value: object
) -> None:
    assert played(await assigned()) != value
    assert played(await assigned(**said)) == value


@pytest.mark.parametrize(
    ("said", "rule", "value"),
    [
        ({"adjudication": False}, "adjudication", Adjudication(None, None)),
        (
            {"adjudication": False, "resign": {"score": 400, "moves": 4}},
            "adjudication",
            Adjudication(Resign(400, 4), None),
        ),
        (
            {"adjudication": False, "draw": {"from_move": 1, "moves": 2, "score": 3}},
            "adjudication",
            Adjudication(None, Draw(1, 2, 3)),
        ),
        ({"syzygy_men": 5}, "syzygy", FOLDERS),
        ({"variant": "chess960"}, "chess960", True),
        ({"time_margin_ms": 500}, "margin_ms", 500),
        ({"strict_pv": True}, "strict_pvs", True),
    ],
)
async def test_what_a_test_says_of_its_rules_reaches_the_match(
    said: dict[str, object], rule: str, value: object
) -> None:
    assert getattr(match_setup(await assigned(), FOLDERS), rule) != value
    assert getattr(match_setup(await assigned(**said), FOLDERS), rule) == value
