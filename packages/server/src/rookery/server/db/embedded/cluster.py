"""The cluster folder: checks it, creates it completely or not at all, and writes its settings."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from rookery.server.db.embedded import folder, processes
from rookery.server.db.embedded.folder import NO_SPACE, Layout
from rookery.server.db.target import Problem, sync

# Runs the supervisor's programs: in a clean environment, with a log, and ended with the supervisor.

# No variable of the environment (PGOPTIONS, LANG, TZ) may change how the server behaves.
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}
LARGE_LOG = 1_000_000
TAIL = 8192
# Marks of log lines that tell why a program ended, most telling first.
MARKS = ("No space left", "PANIC:", "FATAL:", "error:")


def end_of(log: Path) -> int:
    """Return the position in the log at which the next program's output begins, for
    `last_words`."""
    size = log.stat().st_size if log.exists() else 0
    return size if size <= LARGE_LOG else 0  # it will be rotated


def last_words(log: Path, start: int) -> str:
    """Return the log line since `start` that best tells why the program ended."""
    with log.open("rb") as file:
        file.seek(max(start, log.stat().st_size - TAIL))
        lines = file.read().decode("utf-8", errors="replace").strip().splitlines()
    last = lines[-1] if lines else "it said nothing"
    best = next((line for mark in MARKS for line in lines if mark in line), last)
    for mark in MARKS[1:]:
        best = best.rpartition(mark)[2]
    return best.strip().rstrip(".")


def _open(log: Path) -> int:
    """Open the log for a child's output; a large log is rotated first."""
    if log.exists() and log.stat().st_size > LARGE_LOG:
        log.rename(log.with_suffix(".log.1"))
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def start(
    command: list[str], log: Path, before_exec: Callable[[], None]
) -> subprocess.Popen[bytes]:
    words = _open(log)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env=ENVIRONMENT,
            preexec_fn=before_exec,  # noqa: PLW1509 the supervisor has one thread
        )
    finally:
        os.close(words)


def run(command: list[str], log: Path, pause: Callable[[float], None]) -> int:
    """Run a program such as initdb; it is ended if we die or are told to stop."""
    process = start(command, log, processes.dying_with_parent(signal.SIGKILL))
    try:
        while process.poll() is None:
            pause(1.0)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode


MAJOR = "18"
USER = "rookery"

SETTINGS = """\
# Written at every start; what you want otherwise goes into local.conf beside this file.
listen_addresses = ''
unix_socket_directories = '{socket}'
unix_socket_permissions = 0700
port = {port}
max_connections = 100

# A result that was acknowledged survives a crash.
fsync = on
synchronous_commit = on
full_page_writes = on
wal_level = minimal
max_wal_senders = 0
max_wal_size = 256MB
min_wal_size = 48MB

# Small and quiet: one database beside one server process, idle most of the day.
shared_buffers = 64MB
huge_pages = off
dynamic_shared_memory_type = mmap
jit = off
io_method = sync
max_logical_replication_workers = 0
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
wal_writer_delay = 10s
bgwriter_delay = 1s
autovacuum_naptime = 5min
autovacuum_max_workers = 2
autovacuum_worker_slots = 4

# Only what concerns the server as a whole; errors of single statements reach their caller.
log_min_messages = log
log_checkpoints = off
log_line_prefix = '%m [%p] '
timezone = 'UTC'
log_timezone = 'UTC'

include_if_exists = 'local.conf'
"""

ACCESS = """\
# The socket lies in a folder of this account alone: whoever can reach it is trusted.
local all all trust
"""


def check(layout: Layout) -> bool:
    """Whether a cluster exists; raises a problem if this server cannot run it."""
    if not layout.cluster.exists():
        return False
    try:
        found = (layout.cluster / "PG_VERSION").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise Problem(
            "The folder {path} holds something other than a PostgreSQL database: move it away "
            "and start again.",
            path=layout.cluster,
        ) from None
    if found != MAJOR:
        raise Problem(
            "The database in {path} was written by PostgreSQL {found}, but this is PostgreSQL "
            "{wanted}: back it up with the Rookery that wrote it and restore the backup into a"
            " new folder.",
            path=layout.cluster,
            found=found,
            wanted=MAJOR,
        )
    return True


def make_cluster(layout: Layout, binaries: Path, run: Callable[[list[str]], int]) -> None:
    """Create the cluster in a temporary folder, and rename it when it is complete and on disk."""
    shutil.rmtree(layout.unfinished, ignore_errors=True)
    start = end_of(layout.log)
    command = [str(binaries / "initdb"), "--pgdata", str(layout.unfinished), *_options()]
    if run(command) != 0:
        raise init_problem(layout, last_words(layout.log, start))
    (layout.unfinished / "pg_hba.conf").write_text(ACCESS, encoding="utf-8")
    sync(layout.unfinished / "pg_hba.conf")
    layout.unfinished.rename(layout.cluster)
    sync(layout.home)


def _options() -> list[str]:
    return [
        f"--username={USER}",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        "--no-instructions",
    ]


def configure(layout: Layout, socket: Path) -> None:
    """Write the settings at each start, so that a new version of Rookery or a moved folder takes
    effect."""
    text = SETTINGS.format(socket=socket, port=folder.PORT)
    target, draft = layout.cluster / "postgresql.conf", layout.cluster / "postgresql.conf.new"
    if target.read_text(encoding="utf-8") == text:
        return
    draft.write_text(text, encoding="utf-8")
    sync(draft)
    draft.rename(target)


def clear_stale(layout: Layout, socket: Path) -> None:
    """Remove the files of a killed server: its process id may by now belong to another process."""
    (layout.cluster / "postmaster.pid").unlink(missing_ok=True)
    folder.clear(socket)


def init_problem(layout: Layout, words: str) -> Problem:
    if "No space left" in words:
        return Problem(NO_SPACE, path=layout.cluster)
    return Problem(
        "The database in {path} could not be made: {reason}.", path=layout.cluster, reason=words
    )
