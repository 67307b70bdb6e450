"""What workers send is read."""

import pytest
from msgspec import UNSET

from rookery.core.model.task import Results
from rookery.core.protocol import worker_requests
from rookery.core.protocol.codec import BadField, Reader, TooLarge, WireFault
from rookery.core.protocol.worker_requests import SpsaWish
from tests.unit.protocol.samples import (
    BODIES,
    ENVELOPE,
    RUN_ID,
    SPSA,
    STATS,
    TASK,
    WORKER_INFO,
    Json,
    body,
    changed,
)

UPDATE: Json = {**TASK, "stats": STATS}


@pytest.mark.parametrize("endpoint", BODIES)
def test_an_official_body_is_read(endpoint: str) -> None:
    reader, sample = BODIES[endpoint]
    assert reader.read(body(sample))


@pytest.mark.parametrize("endpoint", BODIES)
def test_a_newer_worker_with_more_keys_is_read(endpoint: str) -> None:
    reader, sample = BODIES[endpoint]
    assert reader.read(changed(sample, "worker_info.gpu", "none")) == reader.read(body(sample))


@pytest.mark.parametrize("endpoint", BODIES)
@pytest.mark.parametrize("place", ["password", "worker_info.username"])
def test_credentials_are_always_asked_for(endpoint: str, place: str) -> None:
    reader, sample = BODIES[endpoint]
    with pytest.raises(BadField, match=f"^{place}: expected str, got null"):
        reader.read(changed(sample, place, None))


@pytest.mark.parametrize("key", sorted(WORKER_INFO))
def test_every_key_of_worker_info_is_wanted(key: str) -> None:
    info = {name: value for name, value in WORKER_INFO.items() if name != key}
    with pytest.raises(BadField, match=rf"^worker_info\.{key}: is missing$"):
        worker_requests.REQUEST_TASK.read(body({**ENVELOPE, "worker_info": info}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("concurrency", 0),
        ("concurrency", 10**6),
        ("concurrency", 8.0),
        ("max_memory", -1),
        ("nps", -0.5),
        ("nps", "fast"),
        ("modified", 0),
        ("unique_key", "1a2b3c4d"),
        ("unique_key", "1a2b3c4d-0e3f-4a55-9c1d-6b7f8e9a0b1c\n"),
        ("architecture", ["64bit"]),
        ("python_version", [3, 12]),
        ("username", "x" * 101),
        ("rookery", {"syzygy_men": 9}),
    ],
)
def test_a_known_key_is_taken_seriously(key: str, value: object) -> None:
    with pytest.raises(BadField, match=rf"^worker_info\.{key}"):
        worker_requests.REQUEST_TASK.read(changed(ENVELOPE, f"worker_info.{key}", value))


def test_a_speed_may_be_a_whole_number() -> None:
    read = worker_requests.REQUEST_TASK.read(changed(ENVELOPE, "worker_info.nps", 700_000))
    assert read.worker_info.nps == 700_000.0


def test_a_worker_of_ours_tells_what_it_can() -> None:
    extension = {"os": "linux", "flags": ["avx2"], "tools": {"cargo": "1.80"}, "host": "lab-1"}
    read = worker_requests.REQUEST_TASK.read(changed(ENVELOPE, "worker_info.rookery", extension))
    abilities = read.worker_info.rookery
    assert abilities is not UNSET
    assert (abilities.system, abilities.cpu_flags, abilities.tools) == (
        "linux",
        ("avx2",),
        {"cargo": "1.80"},
    )


@pytest.mark.parametrize("value", ["64e7", RUN_ID.upper(), RUN_ID + "\n", 7, None])
def test_a_run_id_is_24_hex_digits(value: object) -> None:
    with pytest.raises(BadField, match=r"^run_id"):
        worker_requests.BEAT.read(changed(TASK, "run_id", value))


@pytest.mark.parametrize("value", [-1, 1.0, "1", True, 2**40])
def test_a_task_id_is_a_small_integer(value: object) -> None:
    with pytest.raises(BadField, match=r"^task_id"):
        worker_requests.BEAT.read(changed(TASK, "task_id", value))


def test_stats_become_results() -> None:
    read = worker_requests.UPDATE_TASK.read(body(UPDATE))
    assert read.stats == Results(8, 7, 17, 0, 0, (0, 4, 7, 5, 0))
    assert read.spsa is UNSET


def test_a_batch_of_a_tune_adds_up() -> None:
    with pytest.raises(BadField, match=r"^spsa: wins, losses and draws do not add up"):
        worker_requests.UPDATE_TASK.read(body({**UPDATE, "spsa": {**SPSA, "wins": 10}}))


def test_a_batch_of_a_tune_is_even() -> None:
    odd = {**SPSA, "wins": 8, "num_games": 31}
    with pytest.raises(BadField, match=r"^spsa: num_games is odd"):
        worker_requests.UPDATE_TASK.read(body({**UPDATE, "spsa": odd}))


def test_a_worker_of_ours_reports_a_result_per_slot() -> None:
    slot = {"num_games": 16, "wins": 9, "losses": 7, "draws": 0, "sig": 5}
    read = worker_requests.UPDATE_TASK.read(
        body({**UPDATE, "spsa": {**SPSA, "slots": [slot, slot]}})
    )
    assert read.spsa is not UNSET
    assert [part.sig for part in read.spsa.slots] == [5, 5]


def test_slots_add_up_to_their_batch() -> None:
    slot = {"num_games": 16, "wins": 9, "losses": 7, "draws": 0, "sig": 5}
    with pytest.raises(BadField, match=r"^spsa: the slots do not add up"):
        worker_requests.UPDATE_TASK.read(body({**UPDATE, "spsa": {**SPSA, "slots": [slot]}}))


def test_a_worker_of_ours_tells_how_it_played() -> None:
    how = {"runner": "fastchess", "factor": 1.25}
    read = worker_requests.UPDATE_TASK.read(body({**UPDATE, "rookery": how}))
    assert read.rookery is not UNSET
    assert (read.rookery.runner, read.rookery.factor) == ("fastchess", 1.25)


def test_request_spsa_passes_over_results_even_odd_ones() -> None:
    read = worker_requests.REQUEST_SPSA.read(body({**TASK, "stats": "old", "spsa": 1}))
    assert read.task_id == 41


def test_a_worker_of_ours_wants_several_perturbations() -> None:
    read = worker_requests.REQUEST_SPSA.read(body({**TASK, "rookery": {"slots": 4}}))
    assert read.rookery == SpsaWish(4)


def test_long_messages_are_cut() -> None:
    read = worker_requests.FAILED_TASK.read(body({**TASK, "message": "x" * 6000}))
    assert len(read.message) == 5120


def test_a_failure_may_come_without_words() -> None:
    assert worker_requests.FAILED_TASK.read(body(TASK)).message == ""


def test_a_failure_may_bring_its_log() -> None:
    read = worker_requests.FAILED_TASK.read(body({**TASK, "rookery": {"log": "y" * 2**20}}))
    assert read.rookery is not UNSET
    assert len(read.rookery.log) == 2**20


def test_a_pgn_arrives_as_gzip_bytes() -> None:
    _, sample = BODIES["upload_pgn"]
    assert worker_requests.UPLOAD_PGN.read(body(sample)).pgn.startswith(b"\x1f\x8b")


@pytest.mark.parametrize("pgn", ["not base64!", "AAAA", "", 7])
def test_anything_but_gzip_in_base64_is_refused(pgn: object) -> None:
    with pytest.raises(WireFault, match="pgn"):
        worker_requests.UPLOAD_PGN.read(body({**TASK, "pgn": pgn}))


def test_a_log_line_needs_no_task() -> None:
    read = worker_requests.WORKER_LOG.read(body({**ENVELOPE, "message": "hello"}))
    assert read.run_id is UNSET


@pytest.mark.parametrize("ids", [{"run_id": RUN_ID}, {"task_id": 1}])
def test_a_log_line_names_run_and_task_together(ids: Json) -> None:
    with pytest.raises(WireFault, match="come together"):
        worker_requests.WORKER_LOG.read(body({**ENVELOPE, "message": "hello", **ids}))


def test_credentials_can_be_read_where_the_rest_cannot() -> None:
    broken = changed(TASK, "worker_info.concurrency", "many")
    assert worker_requests.CREDENTIALS.read(broken).worker_info.user == "alice"


@pytest.mark.parametrize(
    "reader",
    [
        worker_requests.REQUEST_VERSION,
        worker_requests.REQUEST_TASK,
        worker_requests.BEAT,
        worker_requests.UPDATE_TASK,
        worker_requests.REQUEST_SPSA,
    ],
)
def test_ordinary_bodies_are_small(reader: Reader[object]) -> None:
    with pytest.raises(TooLarge):
        reader.read(b" " * 300_000)
