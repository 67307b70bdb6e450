"""A hostile program gets nothing and harms nothing."""

import asyncio
import hashlib
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.boundary.offload import Threads
from rookery.match.engine_process import start_process
from rookery.model.engine import EngineRecord, RecipeRecord
from rookery.worker.engines.orders import EngineOrder
from rookery.worker.engines.workshop import find_installed
from rookery.worker.sandbox.enclosure import Enclosure
from rookery.worker.sandbox.sandbox import BuiltEngine, Sandbox, detect_sandbox
from rookery.worker.sandbox.watch import ResourceUse, find_excess
from tests.engines import hostile
from tests.process_table import processes_of, remaining_processes

SANDBOX = Sandbox(True)
BUBBLEWRAP = Sandbox(True, bubblewrap="/usr/bin/bwrap")
WALLS = pytest.mark.parametrize("walls", [SANDBOX, BUBBLEWRAP], ids=["ours", "bubblewrap"])
SECRET = "wohq7Thai0"
PLAIN = Sandbox(False, permitted=True)
OURS = EngineRecord(name="Any", recipe=RecipeRecord(kind="installed", output="rookery-fledgling"))


def program(*words: str) -> BuiltEngine:
    """The hostile one, with what our Python needs to start."""
    script = Path(hostile.__file__)
    python = find_installed(EngineOrder(OURS, "", ""))
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
    found = asyncio.run(detect_sandbox(Threads()))
    assert found.available, found.why


@pytest.mark.parametrize("sandbox", [SANDBOX, BUBBLEWRAP, PLAIN])
def test_no_secret_of_the_environment_is_seen(sandbox: Sandbox) -> None:
    ended = said("environment", sandbox=sandbox)
    assert ended.returncode == 0
    own = ended.stdout.splitlines()[0]
    assert SECRET not in (ended.stdout if sandbox.available else own)


@WALLS
def test_nobodys_files_are_there(tmp_path: Path, walls: Sandbox) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    ended = said("files", str(secret), "/etc/shadow", "/etc/hostname", sandbox=walls)
    assert ended.returncode == 0
    assert SECRET not in ended.stdout
    assert "/etc/shadow" not in ended.stdout
    assert "/etc/hostname" not in ended.stdout


@WALLS
def test_no_socket_of_the_machine_is_reached(tmp_path: Path, walls: Sandbox) -> None:
    path = str(tmp_path / "door")
    with socket.create_server(("127.0.0.1", 0)) as door, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{path}")
        abstract.listen()
        ended = said("sockets", str(door.getsockname()[1]), path, sandbox=walls)
    assert (ended.returncode, ended.stdout) == (0, "")


@WALLS
def test_the_disk_is_out_of_reach_and_its_own_places_are_small(walls: Sandbox) -> None:
    ended = said("disk", sandbox=walls)
    written = dict(line.split() for line in ended.stdout.splitlines())
    assert written.pop("/") == written.pop("/usr") == "0"
    assert all(0 < int(count) <= 64 for name, count in written.items() if name != "/var/tmp")


@WALLS
@pytest.mark.parametrize("misdeed", ["memory", "memfd", "left_behind", "segments"])
def test_memory_is_limited_wherever_it_is_kept(walls: Sandbox, misdeed: str) -> None:
    ended = said(misdeed, sandbox=walls, memory_mib=200)
    assert ended.returncode == 125
    assert "more than 200 MiB of memory" in ended.stderr


@WALLS
def test_a_bomb_of_processes_is_put_out(tmp_path: Path, walls: Sandbox) -> None:
    ended = said("forks", str(tmp_path), sandbox=walls)
    assert ended.returncode != 0
    assert not remaining_processes(tmp_path)


@WALLS
def test_the_one_who_watches_can_be_neither_killed_nor_read(walls: Sandbox) -> None:
    ended = said("first", sandbox=walls)
    assert ended.stdout == "alive 1\n"


@WALLS
def test_killing_the_launcher_ends_everything_inside(tmp_path: Path, walls: Sandbox) -> None:
    command = walls.playing(program("escape", str(tmp_path)))
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert processes_of(tmp_path)
        process.send_signal(signal.SIGKILL)
        assert not remaining_processes(tmp_path)


@WALLS
def test_a_worker_that_dies_takes_its_engines_along(tmp_path: Path, walls: Sandbox) -> None:
    command = walls.playing(program("escape", str(tmp_path)))
    worker = "import subprocess, sys; print(subprocess.run(sys.argv[1:]))"
    words = (sys.executable, "-c", worker, *command)
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    assert not remaining_processes(tmp_path)


def test_a_match_ends_a_hostile_engine_and_all_it_started(tmp_path: Path) -> None:
    command = SANDBOX.playing(program("escape", str(tmp_path)))

    async def play() -> None:
        process = await start_process(command, Threads())
        try:
            await process.expect(b"escaped", 60.0)
        finally:
            await process.kill()

    asyncio.run(play())
    assert not remaining_processes(tmp_path)


def test_an_exit_code_and_a_signal_arrive_as_they_were() -> None:
    for line, code in (("exit 7", 7), ("kill -SEGV $$", -signal.SIGSEGV)):
        built = BuiltEngine(("/bin/sh", "-c", line), "")
        assert subprocess.run(SANDBOX.playing(built), check=False).returncode == code


def test_a_program_that_is_not_there_is_named() -> None:
    ended = subprocess.run(
        SANDBOX.playing(BuiltEngine(("/no/such/engine",), "")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "/no/such/engine can't be started" in ended.stderr


def test_an_older_kernel_keeps_a_program_in_as_well() -> None:
    older = "from rookery.worker.sandbox import mounts; mounts.SYS_MOUNT_SETATTR = 9999; "
    tries = (
        "echo x > /usr/x; echo x > /proc/sys/kernel/hostname; ls /root /home; cat /proc/1/environ"
    )
    command = list(SANDBOX.playing(BuiltEngine(("/bin/sh", "-c", tries), "")))
    boot = next(place for place, word in enumerate(command) if "import main" in word)
    command[boot] = command[boot].replace("main(sys", f"{older}main(sys")
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stdout == "/home:\nengine\n"
    assert ended.stderr.count("Read-only file system") == 2
    assert "/proc/1/environ: Permission denied" in ended.stderr


def said_without_namespaces(check: str, *words: str, path: str = "/none") -> str:
    """What Python says in a place where the kernel gives us no namespaces."""
    script = Path(__file__).parent / "without_namespaces.py"
    imports = (
        "import asyncio, sys; from pathlib import Path;"
        " from rookery.boundary.offload import Threads;"
        " from rookery.worker.sandbox.sandbox import detect_sandbox; "
    )
    ended = subprocess.run(
        (sys.executable, str(script), sys.executable, "-c", imports + check, *words),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_without_namespaces_and_bubblewrap_it_says_so() -> None:
    found = said_without_namespaces("print(asyncio.run(detect_sandbox(Threads())))")
    assert "available=False" in found
    assert "It allows no namespaces" in found
    assert "bubblewrap is not installed" in found


def test_without_namespaces_of_our_own_those_of_bubblewrap_are_used() -> None:
    check = "import subprocess; found = asyncio.run(detect_sandbox(Threads()))"
    engine = "from rookery.worker.sandbox.sandbox import BuiltEngine"
    inside = "('/bin/sh', '-c', 'ls /root /etc/shadow; id -u; cat /proc/net/dev')"
    found = said_without_namespaces(
        f"{check}; {engine}; subprocess.run(found.playing(BuiltEngine({inside}, '')))",
        path=os.environ["PATH"],
    )
    assert "65534\n" in found or os.geteuid() != 0
    assert "shadow" not in found
    assert "lo:" in found
    assert "eth" not in found


ORDER = (
    "from rookery.worker.engines.orders import BuildFailed, EngineOrder;"
    "from rookery.worker.engines.workshop import Workshop;"
    "from rookery.model.engine import FLEDGLING, UPLOADED;"
    "from tests.engines.downloads import MemoryDownloads;"
)


@pytest.mark.parametrize("permitted", [False, True])
def test_without_a_sandbox_a_strangers_program_is_not_started_unless_allowed(
    tmp_path: Path, permitted: bool
) -> None:
    traces = tmp_path / "traces"
    script = f"#!/bin/sh\necho started > {traces}\n".encode()
    digest = hashlib.sha256(script).hexdigest()
    found = said_without_namespaces(
        f"""{ORDER}
files = MemoryDownloads({{"{digest}": {script!r}}})
shop = Workshop(Path(sys.argv[1]), files, without_sandbox={permitted})
try:
    asyncio.run(shop.make(EngineOrder(UPLOADED, "", "", binary="{digest}")))
except BuildFailed as failed:
    print(failed.sentence)
""",
        str(tmp_path / "cache"),
    )
    assert traces.exists() is permitted
    assert ("runs other people's programs in a sandbox only" in found) is not permitted
    assert ("--without-sandbox" in found) is not permitted


def test_without_a_sandbox_the_bundled_engine_plays_and_no_other_installed_program(
    tmp_path: Path,
) -> None:
    found = said_without_namespaces(
        f"""{ORDER}
import msgspec
shop = Workshop(Path(sys.argv[1]))
print(asyncio.run(shop.make(EngineOrder(FLEDGLING, "", ""))).command)
for output in ("sh -c true", "/bin/sh", "rookery-fledgling-not"):
    recipe = msgspec.structs.replace(FLEDGLING.recipe, output=output)
    record = msgspec.structs.replace(FLEDGLING, recipe=recipe)
    try:
        asyncio.run(shop.make(EngineOrder(record, "", "")))
    except BuildFailed as failed:
        print(failed.sentence)
""",
        str(tmp_path / "cache"),
    )
    assert "rookery.match.fledgling" in found
    assert found.count("runs other people's programs in a sandbox only") == 3


def test_who_can_not_be_looked_at_is_ended_where_memory_is_limited() -> None:
    taken = ResourceUse(processes=1)
    assert find_excess(Enclosure("within", memory_mib=200), taken, 5) == "what it does not show"
    assert find_excess(Enclosure("within", memory_mib=200), taken, 4) == ""
    assert find_excess(Enclosure("within"), taken, 5) == ""
