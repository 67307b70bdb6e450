"""Bodies that nobody would send: no endpoint fails at any of them, and each answers."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any, Self

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.wire.worker.farm import PATHS, is_retryable, open_farm, understood, worker_info

MANY = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["wanda", "correct horse battery", "a" * 24, "sprt"]),
    lambda parts: (
        st.lists(parts, max_size=4)
        | st.dictionaries(st.sampled_from(["wins", "sig", "slots", "x"]), parts, max_size=4)
    ),
    max_leaves=8,
)
FIELDS = (
    "password",
    "worker_info",
    "run_id",
    "task_id",
    "stats",
    "spsa",
    "message",
    "pgn",
    "rookery",
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A good body with some of its parts replaced, or no body at all."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=60))
    body: dict[str, Any] = {
        "password": "correct horse battery",
        "worker_info": worker_info(),
        "run_id": "61" + "0" * 22,
        "task_id": 0,
        "message": "x",
        "pgn": "H4sI",
    }
    for name in draw(st.lists(st.sampled_from(FIELDS), max_size=3)):
        body[name] = draw(anything)
    for name in draw(st.lists(st.sampled_from(sorted(worker_info())), max_size=2)):
        if isinstance(body["worker_info"], dict):
            body["worker_info"] = body["worker_info"] | {name: draw(anything)}
    return json.dumps(body).encode()


class Counter:
    """A farm that stays open from one body to the next."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()

    def __enter__(self) -> Self:
        self._office = self._runner.run(self._stack.enter_async_context(open_farm()))
        self._runner.run(self._office.submit())
        self._runner.run(self._office.worker().request_task())
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    def send(self, path: str, body: bytes) -> httpx.Response:
        return self._runner.run(self._office.worker().send(path, body))

    def mistakes(self) -> int:
        return self._office.site.log.events().count("request_failed")


@pytest.fixture
def counter() -> Iterator[Counter]:
    with Counter() as opened:
        yield opened


@given(body=bodies())
@MANY
def test_no_body_breaks_an_endpoint(counter: Counter, body: bytes) -> None:
    for path in PATHS:
        answer = counter.send(path, body)
        assert answer.status_code in {200, 400, 401, 413, 429}, (path, answer.text)
        if not is_retryable(answer):
            understood(answer)
        assert counter.mistakes() == 0, path
