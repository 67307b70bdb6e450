"""The access log, metrics, options, reload, and the core that stands alone."""

import importlib.metadata
import json
import os
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path

import pytest

from rookery_asgi import Options, unavailable
from rookery_asgi.accesslog import AccessLog
from rookery_asgi.arguments import LIMITS, parser
from rookery_asgi.cli import main, read_options
from rookery_asgi.errors import AppNotFound, BadOption
from rookery_asgi.importing import load
from rookery_asgi.metrics import prometheus
from rookery_asgi.reload import Changes, Events
from tests.machine import Machine, hello, play

ENTRY = ((("1.2.3.4", 5), "GET", b'/a"\xff'), 200, 13, 0.0123)


def test_the_log_writes_json_lines() -> None:
    written: list[bytes] = []
    log = AccessLog(written.append)
    log.entries.extend([ENTRY, ENTRY])
    log.close()
    lines = b"".join(written).splitlines()
    assert len(lines) == 2
    fields = json.loads(lines[0])
    del fields["time"]
    assert fields == {
        "client": "1.2.3.4:5",
        "method": "GET",
        "target": '/a"ÿ',
        "status": 200,
        "bytes": 13,
        "ms": 12.3,
    }


def test_a_blocked_log_costs_lines_not_requests() -> None:
    release = threading.Event()
    log = AccessLog(lambda data: release.wait())
    for _ in range(100):
        log.entries.append(ENTRY)
        log.flush()
    assert log.dropped >= 30
    release.set()
    log.close()


def test_metrics_are_prometheus_text() -> None:
    async def story() -> None:
        text = prometheus(Machine(hello).core.counters())
        assert "# TYPE rookery_asgi_requests_total counter\nrookery_asgi_requests_total 0\n" in text
        assert 'rookery_asgi_responses_total{class="2xx"} 0\n' in text

    play(story)


def test_options_are_named_as_uvicorn_names_them() -> None:
    given = (
        "m:a --host 0.0.0.0 --port 1 --workers 2 --ssl-certfile c --ssl-keyfile k --root-path /r "
        "--proxy-headers --forwarded-allow-ips * --no-access-log --log-level error --app-dir d"
    )
    options = read_options(vars(parser().parse_args(given.split())))
    assert (options.host, options.port, options.workers) == ("0.0.0.0", 1, 2)
    assert (options.ssl_certfile, options.ssl_keyfile, options.app_dir) == ("c", "k", "d")
    assert not options.access_log


@pytest.mark.parametrize(
    "given", ["m:a --uds x --fd 3", "m:a --workers 0", "m:a --reload --workers 2"]
)
def test_options_that_exclude_each_other_are_refused(given: str) -> None:
    with pytest.raises(BadOption):
        read_options(vars(parser().parse_args(given.split())))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nothing", "not of the form"),
        ("no_such_module_at_all:app", "no module"),
        ("json:nothing", "no attribute"),
        ("json:__name__", "can't be called"),
    ],
)
def test_an_application_that_is_not_there_is_one_sentence(
    text: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AppNotFound, match=sentence):
        load(text)
    assert main([text]) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_changes_are_seen_once(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("1")
    changes = Changes([str(tmp_path)])
    assert not changes()
    os.utime(file, (1, 1))
    assert changes()
    assert not changes()
    (tmp_path / "b.py").write_text("")
    assert changes()


def test_file_events_tell_of_changes_in_folders_that_have_come_too(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "node_modules").mkdir()
    events = Events([str(tmp_path)])
    changes = Changes([str(tmp_path)], events)
    assert not changes()
    (tmp_path / "a.py").write_text("22")
    os.utime(tmp_path / "a.py", (1, 1))
    assert changes()
    deep = tmp_path / "b" / "c"
    deep.mkdir(parents=True)
    assert not changes()
    (deep / "d.py").write_text("")
    assert changes()
    (tmp_path / "b").rename(tmp_path / "e")
    assert changes()
    (tmp_path / "e" / "c" / "d.py").unlink()
    assert changes()
    (tmp_path / "node_modules" / "f.py").write_text("")
    assert not events()


def test_without_an_event_no_file_is_looked_at(tmp_path: Path) -> None:
    changes = Changes([str(tmp_path)], lambda: False)
    (tmp_path / "a.py").write_text("1")
    assert not changes()


def test_a_folder_that_is_not_there_can_not_be_watched(tmp_path: Path) -> None:
    assert not Events([str(tmp_path / "nothing")])()


def test_the_package_needs_no_other_and_says_its_licence() -> None:
    said = importlib.metadata.metadata("rookery-asgi")
    assert said["License-Expression"] == "BSD-3-Clause"
    required = importlib.metadata.requires("rookery-asgi") or []
    assert [line for line in required if "extra ==" not in line] == []


ALONE = """
import asyncio, sys
sys.modules["cymongoose"] = None
from rookery_asgi import Options
from rookery_asgi.server import Server

async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": b"alone"})

async def main():
    server = Server(app, Options(port=0, lifespan="off", access_log=False))
    serving = asyncio.create_task(server.serve())
    await server.listening.wait()
    port = int(server.addresses[0].rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n")
    print((await reader.read()).decode().rpartition("\\n")[2])
    server.stop()
    await serving
    print("mongoose" in open("/proc/self/maps").read())

asyncio.run(main())
"""


def test_the_core_serves_without_mongoose() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["alone", "False"]


def test_without_its_core_the_server_refuses_in_one_sentence() -> None:
    code = (
        "import sys; sys.modules['rookery_asgi._core'] = None; import rookery_asgi; "
        "from rookery_asgi.cli import main; "
        "print(rookery_asgi.unavailable()); sys.exit(main(['a:b']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stdout == done.stderr
    assert done.stdout.startswith("rookery-asgi can't run here: its C core was not built;")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("platform", "why"),
    [("darwin", "which macOS has not"), ("win32", "which Windows has not")],
)
def test_on_other_systems_the_server_says_what_it_lacks(platform: str, why: str) -> None:
    # what those systems lack can't be imported there
    code = (
        "import argparse, asyncio, logging.config, shutil, sys; "
        f"sys.platform = {platform!r}; sys.modules['resource'] = None; import os, signal; "
        "vars(os).pop('sysconf'); vars(os).pop('memfd_create'); "
        "vars(signal).pop('SIGHUP'); sys.modules['rookery_asgi._core'] = None; "
        "from rookery_asgi.cli import main; sys.exit(main(['a:b']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_where_the_core_is_built_nothing_stands_in_the_way() -> None:
    assert unavailable() is None


class Target(bytes):
    """Notes who formats it."""

    threads: set[str] = set()  # noqa: RUF012

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        self.threads.add(threading.current_thread().name)
        return super().decode(encoding, errors)


def test_lines_of_the_log_are_not_formatted_on_the_loop() -> None:
    log = AccessLog(lambda data: None)
    log.entries.extend([((None, "GET", Target(b"/")), 200, 1, 0.5)] * 200)
    log.flush()
    log.close()
    assert Target.threads == {"access-log"}


def test_every_option_is_described() -> None:
    made = parser()
    assert [action.dest for action in made._actions if not action.help] == []
    limits = {
        f.name
        for f in fields(Options)
        if f.name.startswith(("limit_", "timeout_", "high_", "least_"))
    }
    assert limits == set(LIMITS)


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    version = importlib.metadata.version("rookery-asgi")
    assert capsys.readouterr().out == f"rookery-asgi {version}\n"
