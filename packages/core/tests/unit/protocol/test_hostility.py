"""Whatever arrives becomes a typed value or a named fault, and whatever leaves holds no null."""

import json
import math
from collections.abc import Callable
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Struct

from rookery.core.protocol import worker_answers
from rookery.core.protocol.actions import parse_action_filter
from rookery.core.protocol.codec import WireFault, encode_timed
from rookery.core.protocol.user_queries import (
    parse_elo_query,
    parse_finished_query,
    parse_net_hash,
    parse_pgn_name,
    parse_run_pgns_name,
    parse_task_name,
)
from rookery.core.protocol.worker_answers import (
    AliveAnswer,
    RookeryServer,
    Slot,
    SpsaAnswer,
    SpsaSetting,
)
from tests.unit.protocol.samples import BODIES, STATS, WORKER_INFO, body, changed

Read = Callable[[bytes], object]

READERS: dict[str, Read] = {
    **{name: reader.read for name, (reader, _) in BODIES.items()},
    "version answer": worker_answers.VERSION.read,
    "task answer": worker_answers.TASK.read,
    "alive answer": worker_answers.ALIVE.read,
    "spsa answer": worker_answers.SPSA.read,
    "end answer": worker_answers.END.read,
    "actions": parse_action_filter,
}
KEYS = st.sampled_from(
    [
        "password",
        "worker_info",
        "username",
        "stats",
        "spsa",
        "run",
        "args",
        "my_task",
        "$and",
        "$or",
        "$in",
        "$gt",
        "time",
        "action",
        "task_id",
        "error",
        "slots",
        "w_params",
        "rookery",
    ]
)
PARAMETERS = st.sampled_from(
    [
        "LL",
        "LD",
        "DDWL",
        "WD",
        "WW",
        "W",
        "D",
        "L",
        "elo0",
        "elo1",
        "elo_model",
        "page",
        "username",
        "timestamp",
        "success_only",
    ]
)
# NUL, lone and paired surrogates, and what JSON, formats and patterns treat in their own way.
ANY_TEXT = st.text('a0\x00\n\ud83d\ude00\\"{}[]$.-é\u0663\U0001f600', max_size=10)
NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -(2**63), 1e308])
ANY_JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | ANY_TEXT, inner, max_size=6),
    max_leaves=20,
)
PLACES = st.sampled_from(
    [f"worker_info.{key}" for key in WORKER_INFO]
    + [f"stats.{key}" for key in STATS]
    + ["password", "run_id", "task_id", "stats", "spsa", "worker_info", "rookery", "message"]
)
MAYBE_TEXT = ANY_TEXT | st.just(UNSET)
SETTINGS = st.lists(
    st.builds(
        SpsaSetting,
        ANY_TEXT,
        st.floats(),
        c=st.floats() | st.just(UNSET),
        r=st.floats() | st.just(UNSET),
        flip=st.sampled_from([1, -1, UNSET]),
    ),
    max_size=3,
).map(tuple)
SLOTS = st.builds(Slot, w_params=SETTINGS, b_params=SETTINGS, sig=st.integers(0, 2**32 - 1))
ANSWERS = st.one_of(
    st.builds(
        worker_answers.VersionAnswer,
        error=MAYBE_TEXT,
        info=MAYBE_TEXT,
        version=st.integers(0, 325) | st.just(UNSET),
        rookery=st.builds(RookeryServer, ANY_TEXT) | st.just(UNSET),
    ),
    st.builds(worker_answers.make_waiting_answer, MAYBE_TEXT),
    st.builds(AliveAnswer, task_alive=st.booleans(), error=MAYBE_TEXT, info=MAYBE_TEXT),
    st.builds(worker_answers.EndAnswer, info=MAYBE_TEXT),
    st.builds(
        SpsaAnswer,
        task_alive=st.booleans(),
        w_params=SETTINGS | st.just(UNSET),
        b_params=SETTINGS | st.just(UNSET),
        slots=st.lists(SLOTS, max_size=2).map(tuple) | st.just(UNSET),
    ),
)


def holds_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(holds_null, value.values()))
    if isinstance(value, list):
        return any(map(holds_null, value))
    return value is None


@settings(max_examples=100)
@given(value=ANY_JSON)
def test_any_json_is_a_value_or_a_fault(value: object) -> None:
    for read in READERS.values():
        with suppress(WireFault):
            read(body(value))


@settings(max_examples=100)
@given(text=st.binary(max_size=50))
def test_any_bytes_are_a_value_or_a_fault(text: bytes) -> None:
    for read in READERS.values():
        with suppress(WireFault):
            read(text)


@given(place=PLACES, value=ANY_JSON)
def test_one_wrong_field_is_a_value_or_a_fault(place: str, value: object) -> None:
    reader, sample = BODIES["update_task"]
    with suppress(WireFault):
        reader.read(changed(sample, place, value))


@given(text=ANY_TEXT)
def test_every_text_that_gets_in_can_be_stored(text: str) -> None:
    reader, sample = BODIES["failed_task"]
    read = repr(reader.read(changed(sample, "message", text)))
    assert "\\x00" not in read
    assert not any("\ud800" <= character <= "\udfff" for character in read)


@given(st.dictionaries(PARAMETERS, ANY_TEXT | st.integers().map(str) | st.floats().map(str)))
def test_any_query_is_a_value_or_a_fault(query: dict[str, str]) -> None:
    for read in (parse_elo_query, parse_finished_query):
        with suppress(WireFault):
            read(query)


@given(ANY_TEXT)
def test_any_name_is_a_value_or_a_fault(text: str) -> None:
    for read in (parse_task_name, parse_pgn_name, parse_run_pgns_name, parse_net_hash):
        with suppress(WireFault):
            read(text)


@given(answer=ANSWERS, seconds=st.floats())
def test_no_answer_holds_a_null_and_each_has_a_duration(answer: Struct, seconds: float) -> None:
    sent = json.loads(encode_timed(answer, seconds=seconds))
    assert not holds_null(sent)
    assert isinstance(sent["duration"], float)
    assert math.isfinite(sent["duration"])


@given(task_alive=st.booleans(), info=st.text('null "é\U0001f600\n', min_size=1))
def test_answers_are_read_as_they_were_written(task_alive: bool, info: str) -> None:
    answer = AliveAnswer(task_alive=task_alive, info=info)
    assert worker_answers.ALIVE.read(encode_timed(answer, seconds=1)) == answer


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5))
def test_values_of_a_tune_are_read_as_they_were_written(values: list[float]) -> None:
    settings = tuple(SpsaSetting(f"P{place}", value) for place, value in enumerate(values))
    answer = SpsaAnswer(task_alive=True, w_params=settings, b_params=settings, sig=7)
    assert worker_answers.SPSA.read(encode_timed(answer, seconds=1)) == answer
