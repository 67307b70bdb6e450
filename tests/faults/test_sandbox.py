"""A hostile program gets nothing and harms nothing."""

import asyncio
import errno
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.model.engine import EngineRecord, RecipeRecord
from rookery.match.engine_process import start_process
from rookery.worker.commands.settings import WorkerSettings
from rookery.worker.commands.setup import examine
from rookery.worker.engines.orders import EngineOrder
from rookery.worker.engines.workshop import find_installed
from rookery.worker.sandbox.sandbox import PLAYING_TASKS, BuiltEngine, Sandbox, detect_sandbox
from rookery.worker.sandbox.system_calls import COMMON, TABLES
from rookery.worker.sandbox.watch import ResourceUse, Unseen
from rookery.worker.system import ThisSystem
from tests.engines import hostile
from tests.process_table import processes_of, remaining_processes

SANDBOX = Sandbox(True)
BUBBLEWRAP = Sandbox(True, bubblewrap="/usr/bin/bwrap")
WALLS = pytest.mark.parametrize("walls", [SANDBOX, BUBBLEWRAP], ids=["ours", "bubblewrap"])
OF_OTHERS = 500
"""How many tasks the rest of the machine may start during a test."""
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


def test_what_the_doctor_says_of_the_limits_is_so(capsys: pytest.CaptureFixture[str]) -> None:
    """With control groups the kernel counts what is hidden, without them it is found by watching;
    and vsock can't be had where calls are filtered."""
    settings = WorkerSettings(only=("none",))
    asyncio.run(examine(settings, ThisSystem(), Threads())).show()
    said_so = next(x for x in capsys.readouterr().out.splitlines() if x.startswith("limits"))
    found = asyncio.run(detect_sandbox(Threads()))
    ended = said("passed_memory", sandbox=found, memory_mib=200)
    assert ("without control groups (" in said_so) is ("it keeps files in" in ended.stderr)
    assert ("limited by control groups" in said_so) is ("200 MiB of memory" in ended.stderr)
    families = said("families", sandbox=found).stdout
    assert ("calls are filtered" in said_so) is ("vsock: Address family not" in families)


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
@pytest.mark.parametrize(
    "misdeed",
    [
        *("memory", "memfd", "left_behind", "segments", "headless", "own_table"),
        *("buffers", "datagrams", "page_tables", "empty_files"),
    ],
)
def test_memory_is_limited_wherever_it_is_kept(walls: Sandbox, misdeed: str) -> None:
    ended = said(misdeed, sandbox=walls, memory_mib=200)
    assert ended.returncode == 125
    assert "more than 200 MiB of memory" in ended.stderr


@WALLS
def test_memory_can_not_be_hidden_in_a_socket(walls: Sandbox) -> None:
    ended = said("passed_memory", sandbox=walls, memory_mib=200)
    assert ended.returncode == 125
    assert "it keeps files in sockets" in ended.stderr


@WALLS
def test_disk_can_not_be_hidden_in_a_socket(tmp_path: Path, walls: Sandbox) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    if walls.owner:
        os.chown(scratch, walls.owner.uid, walls.owner.gid)
    free = shutil.disk_usage(scratch).free
    built = program("passed_files", str(scratch))
    command = walls.building(
        built.command,
        folder=scratch,
        scratch=scratch,
        readable=built.readable,
        environment=dict(built.environment),
        most_bytes=2**30,
    )
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 125
    assert "it keeps files in sockets" in ended.stderr
    assert shutil.disk_usage(scratch).free > free - 2**29


@WALLS
def test_a_descriptor_that_is_received_is_no_hidden_one(walls: Sandbox) -> None:
    ended = said("descriptors", sandbox=walls, memory_mib=200)
    assert (ended.returncode, ended.stdout) == (0, "received 200\n")


def sleeping(sandbox: Sandbox, seconds: int) -> "subprocess.Popen[str]":
    """A program that sleeps. It has started when this returns, and the watch measures meanwhile."""
    line = f"sleep 0.5; echo started; exec sleep {seconds}"
    command = sandbox.playing(BuiltEngine(("/bin/sh", "-c", line), ""), memory_mib=100)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


@WALLS
def test_a_machine_that_loses_its_memory_ends_a_program(walls: Sandbox) -> None:
    """Wherever it went, if it is more than the program may use and little is left."""
    needy = replace(walls, least_free_mib=2**30)
    held: list[bytes] = []
    with sleeping(needy, 60) as process:
        while process.poll() is None and len(held) < 64:
            held.append(b"x" * 2**24)
            time.sleep(0.05)
        process.wait()
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 125
    assert "because this machine lost more than 100 MiB of memory meanwhile" in said


@WALLS
def test_a_machine_with_much_memory_left_ends_nobody(walls: Sandbox) -> None:
    generous = replace(walls, least_free_mib=1)
    with sleeping(generous, 2) as process:
        held = [b"x" * 2**24 for _ in range(16)]
        assert process.wait() == 0
    del held


SMALL_DISK = """
mount -t tmpfs -o size=64m none "$0" && chmod 777 "$0" || exit 1
(sleep 1; head -c 50M /dev/zero > "$0/another's") &
exec "$@"
"""


@WALLS
def test_a_machine_that_loses_its_disk_ends_a_build(tmp_path: Path, walls: Sandbox) -> None:
    command = walls.building(
        ("sleep", "60"),
        folder=tmp_path,
        scratch=tmp_path,
        readable=(),
        environment={},
        most_bytes=20 * 2**20,
    )
    alone = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK)
    words = (*alone, str(tmp_path), *command)
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 125
    assert "because this machine lost more than 20 MiB of disk meanwhile" in ended.stderr


@WALLS
def test_calls_that_no_engine_needs_are_not_there(walls: Sandbox) -> None:
    table = TABLES[os.uname().machine][0]
    numbers = (*COMMON.values(), *table.refused.values())
    ended = said("calls", str(table.clone), *map(str, numbers), sandbox=walls)
    assert (ended.returncode, ended.stdout) == (0, "")


@WALLS
def test_on_a_processor_without_a_filter_they_are_there_and_the_doctor_says_so(
    walls: Sandbox,
) -> None:
    bare = replace(walls, filtered=False)
    table = TABLES[os.uname().machine][0]
    ended = said("calls", str(table.clone), str(COMMON["io_uring_enter"]), sandbox=bare)
    assert ended.stdout.startswith(f"{COMMON['io_uring_enter']} ")
    assert "system calls are not filtered on this processor" in bare.limits


@WALLS
def test_sockets_are_those_of_this_machine_and_its_networks(walls: Sandbox) -> None:
    ended = said("families", sandbox=walls)
    *found, vsock = ended.stdout.splitlines()
    assert {line.split()[0] for line in found} == {"1", "2", "10", "16"}
    assert vsock == "vsock: Address family not supported by protocol"


@WALLS
def test_queues_of_messages_are_not_there(walls: Sandbox) -> None:
    ended = said("messages", sandbox=walls, memory_mib=200)
    assert ended.stdout == f"refused {errno.ENOSYS}\n"


def tasks_of_the_machine() -> int:
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])


@WALLS
@pytest.mark.parametrize("misdeed", ["forks", "sessions"])
def test_a_bomb_of_processes_is_put_out(tmp_path: Path, walls: Sandbox, misdeed: str) -> None:
    command = walls.playing(program(misdeed, str(tmp_path)))
    before = most = tasks_of_the_machine()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            most = max(most, tasks_of_the_machine())
        assert process.stderr is not None
        assert "more than 64 processes" in process.stderr.read()
    assert process.returncode == 125
    assert most < before + PLAYING_TASKS + OF_OTHERS
    assert not remaining_processes(tmp_path)


@WALLS
def test_a_bomb_takes_no_processes_from_another_sandbox(tmp_path: Path, walls: Sandbox) -> None:
    neighbour = subprocess.Popen(
        walls.playing(program("children", str(tmp_path / "neighbour"))),
        stdout=subprocess.PIPE,
        text=True,
    )
    bombs = [walls.playing(program("sessions", str(tmp_path / "bomb"))) for _ in range(2)]
    running = [subprocess.Popen(each, stderr=subprocess.DEVNULL) for each in bombs]
    assert [each.wait() for each in running] == [125, 125]
    with neighbour:
        assert neighbour.stdout is not None
        assert neighbour.stdout.read() == "all born\n"


@WALLS
def test_who_watches_comes_before_a_program_and_a_build_after_it(walls: Sandbox) -> None:
    command = ("/bin/sh", "-c", "nice; cut -d' ' -f19 /proc/1/stat")
    own = os.nice(0)
    played = walls.playing(BuiltEngine(command, ""))
    built = walls.building(
        command, folder=Path("/tmp"), scratch=Path("/tmp"), readable=(), environment={}
    )
    watching = -10 if os.geteuid() == 0 else own
    for words, niceness in ((played, own), (built, min(own + 10, 19))):
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        assert ended.stdout.split() == [str(niceness), str(watching)]


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
        " from rookery.core.boundary.offload import Threads;"
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
    "from rookery.core.model.engine import FLEDGLING, UPLOADED;"
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
    unseen = Unseen()
    for now in (0.0, 2.5, 2.6):
        unseen.note(ResourceUse(processes=1, hidden={"7"}), now)
    assert unseen.excess(2.5) == ""
    assert unseen.excess(2.6) == "it took what it does not show"
    unseen.note(ResourceUse(processes=1), 2.7)
    assert unseen.excess(9.0) == ""
