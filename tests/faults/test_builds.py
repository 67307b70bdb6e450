"""Builds that go wrong: a clear sentence, the log that matters, and nothing left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from rookery.core.model.engine import EngineRecord
from rookery.worker.engines.orders import BuildFailed, EngineOrder
from rookery.worker.engines.workshop import Workshop
from rookery.worker.sandbox.sandbox import Sandbox
from tests.engines import repositories
from tests.forks import Fork
from tests.places import IMPORTED
from tests.process_table import remaining_processes
from tests.rookery_process import COMMAND

SANDBOX = Sandbox(True, build_processes=30)
PLAIN = Sandbox(False, build_processes=30, permitted=True)
BOTH = pytest.mark.parametrize("sandbox", [SANDBOX, PLAIN], ids=["sandbox", "plain"])
SECRET = "Saquoh6eeP"


def commands(*lines: str, **more: object) -> EngineRecord:
    recipe = {"kind": "commands", "commands": lines, "output": "made", **more}
    return msgspec.convert({"name": "Tiny", "recipe": recipe}, EngineRecord)


def failure(
    folder: Path, record: EngineRecord, sandbox: Sandbox = SANDBOX, seconds: float = 60.0
) -> BuildFailed:
    source = repositories.repository(folder / "tiny", {"tiny.c": repositories.TINY})
    workshop = Workshop(folder / "cache", sandbox=sandbox, seconds=seconds, private_sources=True)
    with pytest.raises(BuildFailed) as failed:
        asyncio.run(workshop.make(EngineOrder(record, source.commit, source.url)))
    assert not list((folder / "cache" / "scratch").iterdir())
    return failed.value


@BOTH
def test_a_build_that_fails_shows_the_compilers_words(tmp_path: Path, sandbox: Sandbox) -> None:
    failed = failure(tmp_path, commands("cc -include no-such-header.h tiny.c"), sandbox)
    assert failed.sentence == "Tiny could not be built: sh ended with exit code 1."
    assert "no-such-header.h" in failed.log
    assert failed.blame == "run"


@BOTH
def test_a_build_that_hangs_is_ended_with_all_it_started(tmp_path: Path, sandbox: Sandbox) -> None:
    hanging = f"trap '' TERM; setsid sh -c 'sleep 600 # {tmp_path}' & sleep 600 # {tmp_path}"
    failed = failure(tmp_path, commands(hanging), sandbox, seconds=1.0)
    assert failed.sentence == "Tiny could not be built within 1 s."
    assert not remaining_processes(tmp_path)


def test_a_flood_of_output_is_cut_in_the_middle(tmp_path: Path) -> None:
    flood = "echo the head; yes | head -c 100000000; echo the tail; false"
    failed = failure(tmp_path, commands(flood))
    assert "\nthe head\n" in failed.log
    assert "\nthe tail\n" in failed.log
    assert "bytes left out" in failed.log
    assert len(failed.log) < 1_100_000


@BOTH
def test_a_build_that_forks_without_end_is_put_out(tmp_path: Path, sandbox: Sandbox) -> None:
    bomb = f"i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; wait # {tmp_path}"
    failed = failure(tmp_path, commands(bomb), sandbox)
    # The kernel may say no before the watch does.
    assert "more than 30 processes" in failed.sentence or "Cannot fork" in failed.log
    assert not remaining_processes(tmp_path)


def test_a_build_has_no_network_and_sees_nobodys_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    spying = f"cat {tmp_path}/secret; cat /etc/hostname; cat /proc/net/dev; ls {tmp_path}; false"
    failed = failure(tmp_path, commands(spying))
    assert SECRET not in failed.log
    assert "lo:" in failed.log
    assert "eth" not in failed.log
    assert "cat: /etc/hostname: No such file" in failed.log


def test_a_build_on_a_machine_that_loses_its_memory_is_the_machines_fault(tmp_path: Path) -> None:
    held: list[bytes] = []
    ended = threading.Event()

    def take() -> None:
        while not ended.wait(0.05) and len(held) < 64:
            held.append(b"x" * 2**24)

    thread = threading.Thread(target=take)
    thread.start()
    needy = replace(SANDBOX, memory_mib=100, least_free_mib=2**30)
    failed = failure(tmp_path, commands("sleep 60"), needy)
    ended.set()
    thread.join()
    assert "this machine lost more than 100 MiB of memory meanwhile" in failed.sentence
    assert failed.blame == "machine"


def test_a_missing_compiler_is_the_machines_fault(tmp_path: Path) -> None:
    record = commands("true", compilers=["no-such-cc>=3", "neither-this"])
    with pytest.raises(BuildFailed, match="none of no-such-cc 3 or newer, neither-this") as failed:
        asyncio.run(Workshop(tmp_path).make(EngineOrder(record, "0" * 40, "/nowhere")))
    assert failed.value.blame == "machine"


def test_a_commit_that_is_not_there_is_the_runs_fault(tmp_path: Path) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    order = EngineOrder(EngineRecord(name="Tiny"), "0" * 40, source.url)
    with pytest.raises(BuildFailed, match="could not be fetched") as failed:
        asyncio.run(Workshop(tmp_path / "cache", private_sources=True).make(order))
    assert failed.value.blame == "run"


def test_a_program_that_was_not_made_is_missed(tmp_path: Path) -> None:
    failed = failure(tmp_path, commands("true"))
    assert failed.sentence == "Tiny was built, but there is no program made."


MAKING = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from rookery.core.model.engine import EngineRecord
from rookery.worker.engines.orders import BuildFailed, EngineOrder
from rookery.worker.sandbox.sandbox import Sandbox
from rookery.worker.engines.workshop import Workshop
try:
    order = EngineOrder(EngineRecord(name="Tiny"), sys.argv[2], sys.argv[3])
    workshop = Workshop(Path(sys.argv[1]), sandbox=Sandbox(True), private_sources=True)
    print(asyncio.run(workshop.make(order)).digest)
except BuildFailed as failed:
    print(failed.blame, failed.sentence)
"""


def made_on(
    mounting: str, cache: Path, source: repositories.Repository, making: str = MAKING
) -> str:
    """Make the engine where the cache's disk is what the mount command makes it."""
    cache.mkdir(exist_ok=True)
    script = f'{mounting} && exec "$@"'
    python = (sys.executable, "-c", making, str(cache), source.commit, source.url)
    ended = subprocess.run(
        ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *python),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.strip()


def test_a_full_disk_is_the_machines_trouble(tmp_path: Path) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    cache = tmp_path / "cache"
    said = made_on(f"mount -t tmpfs -o size=16k tmpfs {cache}", cache, source)
    assert said.startswith("machine ")
    assert "full" in said


@pytest.mark.parametrize("walls", ["Sandbox(True)", "Sandbox(False, permitted=True)"])
def test_a_build_is_charged_for_files_that_it_deletes_and_keeps_open(
    tmp_path: Path, walls: str
) -> None:
    filling = "exec 3> big; rm big; head -c 45000000 /dev/zero >&3; sleep 100"
    files = {"Makefile": f"EXE = tiny\nall:\n\t{filling}\n"}
    source = repositories.repository(tmp_path / "tiny", files)
    cache = tmp_path / "cache"
    making = MAKING.replace("Sandbox(True)", walls)
    said = made_on(f"mount -t tmpfs -o size=64m tmpfs {cache}", cache, source, making)
    assert said.startswith("run Tiny could not be built: it took more than")
    assert "of disk" in said


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    cache = tmp_path / "cache"
    said = made_on(f"mount -t tmpfs -o ro tmpfs {cache}", cache, source)
    assert said == f"machine The cache {cache} can't be written to."


def test_a_program_is_taken_from_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    cache = tmp_path / "cache"
    order = EngineOrder(EngineRecord(name="Tiny"), source.commit, source.url)
    built = asyncio.run(Workshop(cache, sandbox=SANDBOX, private_sources=True).make(order))
    said = made_on(
        f"mount --bind {cache} {cache} && mount -o remount,bind,ro {cache}", cache, source
    )
    assert said == built.digest


@pytest.mark.parametrize("seconds", [0.002, 0.02])
def test_a_trial_that_is_interrupted_twice_ends(tmp_path: Path, seconds: float) -> None:
    files = {"Makefile": f"EXE = tiny\nall:\n\tsleep 600 # {tmp_path}\n"}
    source = repositories.repository(tmp_path / "slow", files)
    command = [*COMMAND, "engine", "add", source.url, "--cache", str(tmp_path / "cache")]
    surroundings = os.environ | {"PYTHONPATH": IMPORTED}
    trial = Fork(command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert trial.stdout is not None
    with trial.stdout as said:
        try:
            while "Building with make" not in said.readline():
                assert trial.poll() is None
            time.sleep(1)
            trial.send_signal(signal.SIGINT)
            time.sleep(seconds)
            trial.send_signal(signal.SIGINT)
            assert trial.wait(60) == 130
        finally:
            trial.kill()
            trial.wait()
    while remaining_processes(tmp_path):
        time.sleep(0.05)
