"""One task as scripts read it, and names in paths."""

import json
import math

import pytest

from rookery.model.task import Results
from rookery.protocol import worker_requests
from rookery.protocol.codec import BadName, encode
from rookery.protocol.user_documents import TaskDocument, issued_document, masked, shown_residual
from rookery.protocol.user_queries import (
    PgnName,
    TaskName,
    net_hash,
    pgn_name,
    run_pgns_name,
    task_name,
)
from rookery.stats.spsa import Issued
from tests.unit.protocol.samples import ENVELOPE, KEY, RUN_ID, changed

READ = worker_requests.REQUEST_TASK.read(
    changed(ENVELOPE, "worker_info.rookery", {"host": "lab-1"})
)
TASK = TaskDocument(
    num_games=480,
    active=True,
    last_updated="2026-08-22 08:16:56.123000+00:00",
    start=0,
    stats=Results(8, 7, 17, 0, 0, (0, 4, 7, 5, 0)),
    worker_info=masked(READ.worker_info, "NZ"),
    spsa_params=issued_document(Issued(3, b"\x9c\x80")),
    residual=shown_residual(math.inf),
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
    assert shown_residual(1.5) == 1.5


def test_a_sound_task_says_nothing_of_badness() -> None:
    assert not {"bad", "task_id", "residual_color"} & set(json.loads(encode(TASK)))


def test_a_bad_task_is_named_by_a_suffix() -> None:
    assert task_name("17") == TaskName(17, bad=False)
    assert task_name("2bad") == TaskName(2, bad=True)


def test_a_pgn_is_named_by_what_stands_before_the_first_dot() -> None:
    assert pgn_name(f"{RUN_ID}-7.pgn") == PgnName(RUN_ID, 7)
    assert pgn_name(f"{RUN_ID}-7.anything.gz") == PgnName(RUN_ID, 7)


def test_all_games_of_a_run_have_one_name_only() -> None:
    assert run_pgns_name(f"{RUN_ID}.pgn.gz") == RUN_ID
    with pytest.raises(BadName, match="form"):
        run_pgns_name(f"{RUN_ID}.pgn")


def test_a_net_is_named_by_its_hash() -> None:
    assert net_hash("nn-e513ab863a73.nnue") == "e513ab863a73"


@pytest.mark.parametrize("name", ["", "bad", "-1", "1.0", "1 ", "٣", "9" * 30])
def test_another_task_name_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        task_name(name)
