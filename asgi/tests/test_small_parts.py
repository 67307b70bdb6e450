"""The access log, metrics, options, reload and the search for Mongoose."""

import importlib.metadata
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rookery_asgi import mongoose
from rookery_asgi.accesslog import AccessLog
from rookery_asgi.cli import main, parser, read_options
from rookery_asgi.errors import AppNotFound, BadOption, Unavailable
from rookery_asgi.importing import load
from rookery_asgi.metrics import prometheus
from rookery_asgi.reload import Changes
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
        "ms": 12,
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
    options = read_options(parser().parse_args(given.split()))
    assert (options.host, options.port, options.workers) == ("0.0.0.0", 1, 2)
    assert (options.ssl_certfile, options.ssl_keyfile, options.app_dir) == ("c", "k", "d")
    assert not options.access_log


@pytest.mark.parametrize(
    "given", ["m:a --uds x --fd 3", "m:a --workers 0", "m:a --reload --workers 2"]
)
def test_options_that_exclude_each_other_are_refused(given: str) -> None:
    with pytest.raises(BadOption):
        read_options(parser().parse_args(given.split()))


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


def test_the_installed_wheel_is_the_pinned_one() -> None:
    assert mongoose.unavailable() is None
    assert mongoose.installed_version() == importlib.metadata.version("cymongoose")


FAKE = "void mg_mgr_init(int *m) { m[0] = 1; } void mg_mgr_free() {} void mg_wrapfd() {} "


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("int nothing;", "does not export Mongoose's functions"),
        (FAKE + "void mg_close_conn() {}", "has another layout than expected"),
    ],
)
def test_a_library_that_is_not_the_expected_mongoose_is_refused(
    source: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "fake.c").write_text(source)
    library = str(tmp_path / "fake.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "fake.c"], check=True)
    code = f"from rookery_asgi import _core; print(_core.bind_mongoose({library!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert sentence in done.stdout


def test_another_wheel_is_refused_in_one_sentence() -> None:
    with pytest.raises(Unavailable) as caught:
        mongoose.check_version("0.2.5", "0.2.6")
    assert str(caught.value) == (
        "rookery-asgi can't run here: it needs cymongoose 0.2.5, and 0.2.6 is installed."
    )
    with pytest.raises(Unavailable, match="not installed"):
        mongoose.check_version("0.2.5", None)
