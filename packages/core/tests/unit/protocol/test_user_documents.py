"""Runs and tasks as scripts read them, and names in paths."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from rookery.core.model.task import Results
from rookery.core.protocol import worker_requests
from rookery.core.protocol.codec import BadName, encode, format_time
from rookery.core.protocol.user_documents import (
    QuotaDocument,
    TaskDocument,
    format_residual,
    issued_document,
    mask_worker,
)
from rookery.core.protocol.user_queries import (
    PgnName,
    TaskName,
    parse_net_hash,
    parse_pgn_name,
    parse_run_pgns_name,
    parse_task_name,
)
from rookery.core.stats.spsa import Issued
from tests.unit.protocol.samples import ENVELOPE, KEY, RUN_ID, changed


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 8, 22, 8, 16, 56, 123000, UTC), "2026-08-22 08:16:56.123000+00:00"),
        (datetime(2026, 8, 22, 8, 16, 56, 0, UTC), "2026-08-22 08:16:56.000000+00:00"),
        (
            datetime(2026, 8, 22, 10, 0, tzinfo=timezone(timedelta(hours=2))),
            "2026-08-22 08:00:00.000000+00:00",
        ),
    ],
)
def test_dates_are_utc_with_a_fraction(moment: datetime, text: str) -> None:
    assert format_time(moment) == text


def test_the_quota_is_spelt_as_scripts_know_it() -> None:
    quota = QuotaDocument(limit=5000, remaining=4999, reset=1, used=1, uninitialized=False)
    assert json.loads(encode(quota)) == {
        "limit": 5000,
        "remaining": 4999,
        "reset": 1,
        "used": 1,
        "resource": "core",
        "_uninitialized": False,
    }


READ = worker_requests.REQUEST_TASK.read(
    changed(ENVELOPE, "worker_info.rookery", {"host": "lab-1"})
)
TASK = TaskDocument(
    num_games=480,
    active=True,
    last_updated="2026-08-22 08:16:56.123000+00:00",
    start=0,
    stats=Results(8, 7, 17, 0, 0, (0, 4, 7, 5, 0)),
    worker_info=mask_worker(READ.worker_info, "NZ"),
    spsa_params=issued_document(Issued(3, b"\x9c\x80")),
    residual=format_residual(math.inf),
)


def test_what_identifies_a_machine_is_taken_out() -> None:
    text = encode(TASK)
    assert KEY.encode() not in text
    assert b"lab-1" not in text
    info = json.loads(text)["worker_info"]
    assert (info["unique_key"], info["remote_addr"], info["country_code"]) == (
        "1a2b3c4d...",
        "?.?.?.?",
        "NZ",
    )


def test_flips_are_byte_values_and_an_infinite_residual_a_word() -> None:
    task = json.loads(encode(TASK))
    assert task["spsa_params"] == {"iter": 3, "packed_flips": [0x9C, 0x80]}
    assert task["residual"] == "inf"
    assert format_residual(1.5) == 1.5


def test_a_sound_task_says_nothing_of_badness() -> None:
    assert not {"bad", "task_id", "residual_color"} & set(json.loads(encode(TASK)))


def test_a_bad_task_is_named_by_a_suffix() -> None:
    assert parse_task_name("17") == TaskName(17, bad=False)
    assert parse_task_name("2bad") == TaskName(2, bad=True)


def test_a_pgn_is_named_by_what_stands_before_the_first_dot() -> None:
    assert parse_pgn_name(f"{RUN_ID}-7.pgn") == PgnName(RUN_ID, 7)
    assert parse_pgn_name(f"{RUN_ID}-7.anything.gz") == PgnName(RUN_ID, 7)


def test_all_games_of_a_run_have_one_name_only() -> None:
    assert parse_run_pgns_name(f"{RUN_ID}.pgn.gz") == RUN_ID
    with pytest.raises(BadName, match="expected"):
        parse_run_pgns_name(f"{RUN_ID}.pgn")


def test_a_net_is_named_by_its_hash() -> None:
    assert parse_net_hash("nn-e513ab863a73.nnue") == "e513ab863a73"


@pytest.mark.parametrize("name", ["", "bad", "-1", "1.0", "1 ", "٣", "9" * 30])
def test_another_task_name_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        parse_task_name(name)
