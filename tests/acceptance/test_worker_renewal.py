"""Workers that a server installs and renews, as real processes; nothing comes from a network."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import rookery.core
from rookery.core.protocol.ed25519 import fingerprint, public_key
from rookery.server.machines.handout import make_script
from rookery.server.machines.wheel import (
    Wheel,
    find_packages,
    own_wheel,
    pack_wheel,
    read_locked_requirements,
    worker_files,
)
from rookery.worker.renewal.installation import InstallFolder, add_version, environment_name
from tests.rookery_process import environment
from tests.workers.fake_server import Body, FakeServer, fake_server

LIMIT_SECONDS = 110
SEED, ANOTHER = bytes(range(32)), bytes(32)
FAILING = b"""import sys
if "--trial" not in sys.argv:
    raise RuntimeError("it breaks when it is needed")
"""
BROKEN = {"rookery/worker/commands/start.py": b"raise SystemExit('this one is broken')\n"}


def wheel_of(version: str, changes: dict[str, bytes] | None = None, seed: bytes = SEED) -> Wheel:
    """Our own worker under another version, with other files, signed."""
    init = f'__version__ = "{version}"\n'.encode()
    files = worker_files(find_packages()) | {"rookery/core/__init__.py": init}
    return pack_wheel(files | (changes or {}), version).signed(seed)


@pytest.fixture
def place(tmp_path: Path) -> InstallFolder:
    """An installation of version 1.0 whose environment is that of the tests."""
    made = InstallFolder(tmp_path / "a place")
    env = made.root / "envs" / environment_name(read_locked_requirements().encode())
    (env / "bin").mkdir(parents=True)
    (env / "bin" / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (env / "bin" / "python").chmod(0o755)
    (env / "whole").touch()
    old = wheel_of("1.0")
    made.switch(add_version(made, old.content, old.sha256))
    made.write_launcher(made.current())
    made.pin(old.key)
    return made


def offering(new: Wheel, version: str) -> FakeServer:
    offer = {
        "version": version,
        "wheel": new.name,
        "sha256": new.sha256,
        "signature": new.signature,
    }
    greeting: Body = {"version": 325, "rookery": offer}
    return FakeServer(greeting=greeting, files={f"/worker/{new.name}": new.content})


def work(
    place: InstallFolder, server: FakeServer, *words: str
) -> "subprocess.CompletedProcess[str]":
    """One life of the installed worker, which finds no task."""
    (place.root / "secret").write_text("olga:rkw_x")
    variables = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    common = (f"--server={server.address}", f"--token-file={place.root / 'secret'}")
    return subprocess.run(
        [place.launcher, "worker", *common, f"--cache={place.root / 'cache'}", "--once", *words],
        env=variables,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def versions_at_work(server: FakeServer) -> list[str]:
    return [body["worker_info"]["rookery"]["version"] for body in server.of("request_task")]


def test_a_newer_worker_takes_over_before_the_next_task(place: InstallFolder) -> None:
    new = wheel_of("2.0")
    with fake_server(offering(new, "2.0")) as server:
        ended = work(place, server)
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert versions_at_work(server) == ["2.0"]
    assert place.current() == place.version(new.sha256)


@pytest.mark.parametrize("fault", ["broken", "forged"])
def test_one_that_does_not_start_or_is_not_what_was_promised_is_not_used(
    fault: str, place: InstallFolder
) -> None:
    before = place.current()
    new = wheel_of("2.0", BROKEN if fault == "broken" else None)
    server = offering(new, "2.0")
    if fault == "forged":
        server.files = {f"/worker/{new.name}": new.content + b"more"}
    with fake_server(server):
        ended = work(place, server)
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert "is not used" in ended.stdout
    assert versions_at_work(server) == ["1.0"]
    assert place.current() == before


def test_one_that_another_key_signed_is_not_even_fetched(place: InstallFolder) -> None:
    before, new = place.current(), wheel_of("2.0", seed=ANOTHER)
    with fake_server(offering(new, "2.0")) as server:
        ended = work(place, server)
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert "not signed with the key that was pinned when this worker was installed" in ended.stdout
    assert versions_at_work(server) == ["1.0"]
    assert place.current() == before
    assert "trying it" not in ended.stdout


def test_one_that_fails_before_its_first_word_is_replaced_by_the_one_before(
    place: InstallFolder,
) -> None:
    before, start = place.current(), "rookery/worker/commands/start.py"
    new = wheel_of("2.0", {start: FAILING + worker_files(find_packages())[start]})
    with fake_server(offering(new, "2.0")) as server:
        ended = work(place, server)
        assert ended.returncode == 3, ended.stdout + ended.stderr
        assert "it breaks when it is needed" in server.of("worker_log")[0]["message"]
        again = work(place, server)
    assert "trying it" not in again.stdout
    assert versions_at_work(server) == ["1.0", "1.0"]
    assert len(server.of("worker_log")) == 1
    assert place.current() == before


def test_a_worker_may_be_kept_as_it_is(place: InstallFolder) -> None:
    with fake_server(offering(wheel_of("2.0"), "2.0")) as server:
        work(place, server, "--no-update")
    assert versions_at_work(server) == ["1.0"]


def installing(
    wheel: Wheel, address: str, variables: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh"],
        input=make_script(wheel, address),
        env=variables,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def bare(tmp_path: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return {"PATH": path, "HOME": str(tmp_path), **more}


def test_a_server_with_another_key_than_the_page_showed_installs_nothing(tmp_path: Path) -> None:
    wheel = own_wheel().signed(ANOTHER)
    wrong = fingerprint(public_key(SEED))
    with fake_server(FakeServer(files={f"/worker/{wheel.name}": wheel.content})) as server:
        ended = installing(wheel, server.address, bare(tmp_path, ROOKERY_FINGERPRINT=wrong))
    assert ended.returncode == 1
    assert f"but should have {wrong}: nothing was installed" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_server_beyond_this_machine_installs_nothing_by_http_unless_told(tmp_path: Path) -> None:
    wheel, address = own_wheel().signed(SEED), "http://farm.invalid"
    refused = installing(wheel, address, bare(tmp_path))
    told = installing(wheel, address, bare(tmp_path, ROOKERY_ALLOW_HTTP="1"))
    assert "is reached by http" in refused.stderr
    assert "ROOKERY_ALLOW_HTTP=1" in refused.stderr
    assert "can't be fetched" in told.stderr


def test_one_line_installs_a_worker(tmp_path: Path) -> None:
    """The requirements are found among the tests' own packages, not on a network."""
    wheel = own_wheel().signed(SEED)
    packages = str(Path(msgspec.__file__).parents[1])
    variables = {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": packages,
        "ROOKERY_ACCOUNT": "olga:rkw_x",
        "ROOKERY_FINGERPRINT": fingerprint(public_key(SEED)),
    }
    with fake_server(FakeServer(files={f"/worker/{wheel.name}": wheel.content})) as server:
        ended = installing(wheel, server.address, variables)
        assert ended.returncode == 0, ended.stderr
        line = shlex.split(ended.stdout.splitlines()[-1])
        assert line[1:3] == ["worker", "--config"]
        shown = subprocess.run(
            [line[0], "--version"], env=variables, capture_output=True, text=True, check=False
        )
        assert shown.stdout.startswith(f"rookery {rookery.core.__version__}+f")
    config = Path(line[3])
    assert config.with_name("worker.token").stat().st_mode & 0o777 == 0o600
    assert server.address in config.read_text()
    assert InstallFolder(config.parent).key() == wheel.key


def test_without_a_python_the_script_says_what_is_needed() -> None:
    script = make_script(own_wheel().signed(SEED), "http://farm.example.org")
    ended = subprocess.run(
        ["/bin/sh"],
        input=script,
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "Python 3.11 or newer" in ended.stderr
