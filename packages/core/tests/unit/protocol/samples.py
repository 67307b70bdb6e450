"""Bodies as an official worker sends them, and documents with every field set."""

import base64
import copy
import gzip
import json

from rookery.core.model.task import Results
from rookery.core.protocol import worker_requests
from rookery.core.protocol.codec import Reader
from rookery.core.protocol.user_documents import RunDocument

RUN_ID = "64e74776a170cb1f26fa3930"
KEY = "1a2b3c4d-0e3f-4a55-9c1d-6b7f8e9a0b1c"
NO_GAMES = Results(0, 0, 0, 0, 0, (0, 0, 0, 0, 0))

Json = dict[str, object]

WORKER_INFO: Json = {
    "uname": "Linux 6.8.0",
    "architecture": ["64bit", "ELF"],
    "concurrency": 8,
    "max_memory": 16000,
    "min_threads": 1,
    "username": "alice",
    "version": 325,
    "python_version": [3, 12, 3],
    "gcc_version": [13, 2, 0],
    "compiler": "g++",
    "unique_key": KEY,
    "modified": False,
    "worker_arch": "x86-64-bmi2",
    "ARCH": "?",
    "nps": 0.0,
    "near_github_api_limit": False,
}
STATS: Json = {
    "wins": 8,
    "losses": 7,
    "draws": 17,
    "crashes": 0,
    "time_losses": 0,
    "pentanomial": [0, 4, 7, 5, 0],
}
SPSA: Json = {"num_games": 32, "wins": 9, "losses": 7, "draws": 16, "sig": 1069182125}
PGN = base64.b64encode(gzip.compress(b'[Event "Batch 0"]', mtime=0)).decode()

ENVELOPE: Json = {"password": "pw", "worker_info": WORKER_INFO}
TASK: Json = {**ENVELOPE, "run_id": RUN_ID, "task_id": 41}

BODIES: dict[str, tuple[Reader[object], Json]] = {
    "request_version": (
        worker_requests.REQUEST_VERSION,
        {"password": "pw", "worker_info": {"username": "alice"}},
    ),
    "request_task": (worker_requests.REQUEST_TASK, ENVELOPE),
    "beat": (worker_requests.BEAT, TASK),
    "update_task": (worker_requests.UPDATE_TASK, {**TASK, "stats": STATS, "spsa": SPSA}),
    "request_spsa": (worker_requests.REQUEST_SPSA, {**TASK, "stats": STATS, "spsa": SPSA}),
    "failed_task": (worker_requests.FAILED_TASK, {**TASK, "message": "no compiler"}),
    "stop_run": (worker_requests.STOP_RUN, {**TASK, "message": "wrong bench"}),
    "upload_pgn": (worker_requests.UPLOAD_PGN, {**TASK, "message": "", "pgn": PGN}),
    "worker_log": (worker_requests.WORKER_LOG, {**TASK, "message": "engine is not responsive"}),
}


def body(sample: object) -> bytes:
    """Return a sample as the worker's JSON library writes it."""
    return json.dumps(sample).encode()


def changed(sample: Json, place: str, value: object) -> bytes:
    """Return a sample with one field, named by dots, set to another value."""
    copied = copy.deepcopy(sample)
    *parents, last = place.split(".")
    inner: dict[str, object] = copied
    for parent in parents:
        child = inner[parent]
        assert isinstance(child, dict)
        inner = child
    inner[last] = value
    return body(copied)


def make_args(**other: object) -> Json:
    """Return the args of a fishtest-shaped run."""
    fields: dict[str, object] = {
        "base_tag": "master",
        "new_tag": "idea1",
        "base_nets": (),
        "new_nets": (),
        "num_games": 800_000,
        "tc": "10+0.1",
        "new_tc": "10+0.1",
        "book": "UHO_Lichess_4852_v1.epd",
        "book_depth": "8",
        "threads": 1,
        "resolved_base": "b" * 40,
        "resolved_new": "a" * 40,
        "msg_base": "Base",
        "msg_new": "New",
        "base_options": "Hash=16",
        "new_options": "Hash=16",
        "info": "",
        "base_signature": "2050811",
        "new_signature": "2050811",
        "username": "alice",
        "tests_repo": "https://github.com/alice/Stockfish",
        "auto_purge": False,
        "throughput": 100,
        "itp": 97.3,
        "priority": 0,
        "adjudication": True,
    }
    return fields | other


def make_run(args: Json | None = None, run_id: str = RUN_ID) -> RunDocument:
    """Return a young run without games."""
    return RunDocument(
        id=run_id,
        start_time="2026-08-22 08:16:56.123000+00:00",
        last_updated="2026-08-22 08:16:56.123000+00:00",
        tc_base=10.0,
        approved=True,
        approver="bob",
        finished=False,
        deleted=False,
        failed=False,
        failures=0,
        is_green=False,
        is_yellow=False,
        workers=0,
        cores=0,
        committed_games=0,
        total_games=0,
        results=NO_GAMES,
        nps=0.0,
        games_per_minute=0.0,
        args=args or make_args(),
    )
