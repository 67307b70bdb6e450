"""A hostile program gets nothing and harms nothing."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.boundary.offload import Threads
from rookery.protocol.engine_record import EngineRecord, RecipeRecord
from rookery.worker.engines.installed import installed
from rookery.worker.engines.order import Built, Order
from rookery.worker.engines.sandbox.sandbox import Sandbox, detect
from rookery.worker.match.process import start_process
from tests.engines import hostile
from tests.running import processes_of, remaining

SANDBOX = Sandbox(True)
SECRET = "wohq7Thai0"
PLAIN = Sandbox(False)
OURS = EngineRecord(name="Any", recipe=RecipeRecord(kind="installed", output="rookery-fledgling"))


def program(*words: str) -> Built:
    """The hostile one, with what our Python needs to start."""
    script = Path(hostile.__file__)
    python = installed(Order(OURS, "", ""))
    return replace(
        python,
        command=(sys.executable, str(script), *words),
        readable=(*python.readable, script),
    )


def said(
    *words: str, sandbox: Sandbox = SANDBOX, memory_mib: int = 0
) -> "subprocess.CompletedProcess[str]":
    command = sandbox.playing(program(*words), memory_mib=memory_mib)
    environment = {**os.environ, "ROOKERY_PASSWORD": SECRET}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_this_machine_has_a_sandbox() -> None:
    found = asyncio.run(detect(Threads()))
    assert found.available, found.why


@pytest.mark.parametrize("sandbox", [SANDBOX, PLAIN])
def test_no_secret_of_the_environment_is_seen(sandbox: Sandbox) -> None:
    ended = said("environment", sandbox=sandbox)
    assert ended.returncode == 0
    own = ended.stdout.splitlines()[0]
    assert SECRET not in (ended.stdout if sandbox.available else own)


def test_nobodys_files_are_there(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    ended = said("files", str(secret), "/etc/shadow", "/etc/hostname")
    assert ended.returncode == 0
    assert SECRET not in ended.stdout
    assert "/etc/shadow" not in ended.stdout
    assert "/etc/hostname" not in ended.stdout


def test_no_socket_of_the_machine_is_reached(tmp_path: Path) -> None:
    path = str(tmp_path / "door")
    with socket.create_server(("127.0.0.1", 0)) as door, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{path}")
        abstract.listen()
        ended = said("sockets", str(door.getsockname()[1]), path)
    assert (ended.returncode, ended.stdout) == (0, "")


def test_the_disk_is_out_of_reach_and_its_own_places_are_small() -> None:
    ended = said("disk")
    written = dict(line.split() for line in ended.stdout.splitlines())
    assert written.pop("/") == written.pop("/usr") == "0"
    assert all(0 < int(count) <= 64 for name, count in written.items() if name != "/var/tmp")


def test_memory_is_limited_also_where_it_is_shared() -> None:
    ended = said("memory", memory_mib=200)
    assert ended.returncode == 125
    assert "more than 200 MiB of memory" in ended.stderr


def test_a_bomb_of_processes_is_put_out(tmp_path: Path) -> None:
    ended = said("forks", str(tmp_path))
    assert ended.returncode != 0
    assert not remaining(tmp_path)


def test_the_one_who_watches_can_be_neither_killed_nor_read() -> None:
    ended = said("first")
    assert ended.stdout == "alive 1\n"


def test_killing_the_launcher_ends_everything_inside(tmp_path: Path) -> None:
    command = SANDBOX.playing(program("escape", str(tmp_path)))
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert processes_of(tmp_path)
        process.send_signal(signal.SIGKILL)
        assert not remaining(tmp_path)


def test_a_worker_that_dies_takes_its_engines_along(tmp_path: Path) -> None:
    command = SANDBOX.playing(program("escape", str(tmp_path)))
    worker = "import subprocess, sys; print(subprocess.run(sys.argv[1:]))"
    words = (sys.executable, "-c", worker, *command)
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    assert not remaining(tmp_path)


def test_a_match_ends_a_hostile_engine_and_all_it_started(tmp_path: Path) -> None:
    command = SANDBOX.playing(program("escape", str(tmp_path)))

    async def play() -> None:
        process = await start_process(command, Threads())
        try:
            await process.expect(b"escaped", 60.0)
        finally:
            await process.kill()

    asyncio.run(play())
    assert not remaining(tmp_path)


def test_an_exit_code_and_a_signal_arrive_as_they_were() -> None:
    for line, code in (("exit 7", 7), ("kill -SEGV $$", -signal.SIGSEGV)):
        built = Built(("/bin/sh", "-c", line), "")
        assert subprocess.run(SANDBOX.playing(built), check=False).returncode == code


def test_a_program_that_is_not_there_is_named() -> None:
    ended = subprocess.run(
        SANDBOX.playing(Built(("/no/such/engine",), "")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "/no/such/engine can't be started" in ended.stderr


def test_an_older_kernel_keeps_a_program_in_as_well() -> None:
    older = "from rookery.worker.engines.sandbox import kernel; kernel.SYS_MOUNT_SETATTR = 9999; "
    tries = (
        "echo x > /usr/x; echo x > /proc/sys/kernel/hostname; ls /root /home; cat /proc/1/environ"
    )
    command = list(SANDBOX.playing(Built(("/bin/sh", "-c", tries), "")))
    boot = next(place for place, word in enumerate(command) if "import main" in word)
    command[boot] = command[boot].replace("main(sys", f"{older}main(sys")
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stdout == "/home:\nengine\n"
    assert ended.stderr.count("Read-only file system") == 2
    assert "/proc/1/environ: Permission denied" in ended.stderr


def test_without_namespaces_it_says_so() -> None:
    script = Path(__file__).parent / "without_namespaces.py"
    check = (
        "import asyncio; from rookery.boundary.offload import Threads;"
        " from rookery.worker.engines.sandbox.sandbox import detect;"
        " print(asyncio.run(detect(Threads())))"
    )
    ended = subprocess.run(
        (sys.executable, str(script), sys.executable, "-c", check),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "available=False" in ended.stdout
    assert "This machine allows no namespaces" in ended.stdout
