"""A whole life of an official worker: every answer has the keys and types that it relies on.

The bodies have the shape that the worker of version 325 sends; the shapes of the answers are those
that it was seen to accept.
"""

from typing import Any

import pytest

from tests.makers import make_plan, pairs, sprt, spsa
from tests.wire.worker.farm import GAMES, ServedFarm, stats

pytestmark = pytest.mark.anyio

STATS = {
    "wins": int, "losses": int, "draws": int, "crashes": int, "time_losses": int,
    "pentanomial": [int],
}  # fmt: skip
SPRT_ARGS = {
    "base_tag": str, "new_tag": str, "base_nets": [], "new_nets": [], "num_games": int, "tc": str,
    "new_tc": str, "book": str, "book_depth": str, "threads": int, "resolved_base": str,
    "resolved_new": str, "msg_base": str, "msg_new": str, "base_options": str, "new_options": str,
    "info": str, "base_signature": str, "new_signature": str, "username": str, "tests_repo": str,
    "adjudication": bool, "auto_purge": bool, "throughput": int, "itp": float, "priority": int,
    "sprt": {
        "alpha": float, "beta": float, "elo0": float, "elo1": float, "elo_model": str,
        "state": str, "llr": float, "batch_size": int, "lower_bound": float, "upper_bound": float,
        "overshoot": {
            "last_update": int, "skipped_updates": int, "ref0": float, "m0": float, "sq0": float,
            "ref1": float, "m1": float, "sq1": float,
        },
    },
}  # fmt: skip
TUNE = {
    "algorithm": str, "A": int, "alpha": float, "gamma": float, "raw_params": str, "iter": int,
    "num_iter": int,
    "params": [{
        "name": str, "start": float, "min": float, "max": float, "c_end": float, "r_end": float,
        "c": float, "a_end": float, "a": float, "theta": float,
    }],
}  # fmt: skip
GRANT = {
    "run": {
        "_id": str,
        "args": SPRT_ARGS,
        "my_task": {"num_games": int, "start": int, "stats": STATS},
    },
    "task_id": int,
    "duration": float,
}
ALIVE = {"task_alive": bool, "duration": float}
VALUES = {
    "task_alive": bool,
    "w_params": [{"name": str, "value": float, "c": float, "R": float, "flip": int}],
    "b_params": [{"name": str, "value": float}],
    "sig": int,
    "duration": float,
}
SILENT = {"duration": float}


def shape(value: Any) -> Any:
    """The types in a value; a list by its first entry."""
    if isinstance(value, dict):
        return {key: shape(part) for key, part in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value)


async def test_the_life_of_a_sequential_test(farm: ServedFarm) -> None:
    await farm.submit(kind=sprt(batch=2), plan=make_plan(games=8))
    worker = farm.worker()
    assert shape(await worker.version()) == {
        "version": int,
        "rookery": {
            "version": str,
            "features": [str],
            "wheel": str,
            "sha256": str,
            "signature": str,
        },
        "duration": float,
    }
    assert shape(await worker.request_task()) == GRANT
    assert shape(await worker.beat()) == ALIVE
    worker.info |= {"ARCH": "64bit BMI2", "nps": 360951.5}
    assert shape(await worker.update(pairs(even=2))) == ALIVE
    last = await worker.update(pairs(even=4))
    assert (shape(last), last["task_alive"]) == (ALIVE, False)
    assert shape(await worker.call("upload_pgn", message="", pgn=GAMES)) == SILENT
    assert shape(await worker.request_task()) == {"task_waiting": bool, "duration": float}


async def test_the_life_of_a_tune(farm: ServedFarm) -> None:
    await farm.submit(kind=spsa())
    worker = farm.worker()
    args = shape(await worker.request_task())["run"]["args"]
    assert args == {name: kind for name, kind in SPRT_ARGS.items() if name != "sprt"} | {
        "spsa": TUNE
    }
    first = await worker.call("request_spsa", stats=stats(pairs()))
    assert shape(first) == VALUES
    batch = {"num_games": 4, "wins": 1, "losses": 1, "draws": 2, "sig": first["sig"]}
    assert shape(await worker.update(pairs(even=1, ld=1, wd=0), spsa=batch))["task_alive"] is bool
    # From the second batch on the last one comes along, and is passed over.
    second = await worker.call("request_spsa", stats=stats(pairs(even=1, ld=1)), spsa=batch)
    assert shape(second) == VALUES


async def test_the_end_of_a_task_that_fails(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    assert shape(await worker.call("worker_log", message="not responsive")) == SILENT
    assert shape(await worker.call("failed_task", message="SIGABRT")) == SILENT


async def test_a_run_that_is_held_to_be_broken(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    assert shape(await worker.call("stop_run", message="Wrong bench")) == SILENT | {"error": str}
