"""Several processes: workers on one port, and reloading for developers."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.machine import body_of
from tests.serving import (
    APP,
    ROOT,
    ask,
    command,
    eventually,
    get,
    read_all,
    serve,
)


def test_workers_share_the_port_and_are_replaced() -> None:
    with serve(APP, "--workers", "2") as served:
        assert eventually(lambda: served.log.count("serving on") == 2)

        def pid() -> int:
            number: int = json.loads(body_of(ask(served, "/scope")))["state"]["pid"]
            return number

        assert eventually(lambda: len({pid() for _ in range(20)}) == 2)
        victim = pid()
        os.kill(victim, signal.SIGKILL)
        assert eventually(lambda: served.log.count("serving on") == 3)
        assert eventually(lambda: victim not in {pid() for _ in range(20)})
        assert served.stop() == 0


def test_workers_whose_application_can_not_start_end_the_supervisor() -> None:
    done = subprocess.run(
        command("tests.apps:fails_to_start", "--port", "0", "--workers", "2"),
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 3


@pytest.mark.parametrize("how", ["--no-reload-poll", "--reload-poll"])
def test_reload_serves_the_changed_application(how: str, tmp_path: Path) -> None:
    module = tmp_path / "changing.py"
    lines = (
        "from tests.machine import answer",
        "async def app(s, r, send):",
        "  await answer(send, b'{}')",
    )
    text = "\n".join(lines)
    module.write_text(text.replace("{}", "one"))
    options = ("--reload", how, "--app-dir", str(tmp_path), "--lifespan", "off")
    with serve("changing:app", *options) as served:
        assert body_of(ask(served, "/")) == b"one"
        module.write_text(text.replace("{}", "three"))
        assert eventually(lambda: body_of(ask(served, "/")) == b"three")


BROKEN = {
    "another module is missing": "import nothere_at_all",
    "its code raises": "1 / 0",
    "it is no Python": "def",
    "its factory raises": "def app(*words): raise LookupError('on purpose')",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_application_that_can_not_be_loaded_is_not_tried_again(
    text: str, workers: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text(text)
    options = ("--factory", "--port", "0", "--workers", workers, "--app-dir", str(tmp_path))
    done = subprocess.run(
        command("broken:app", *options),
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert "Traceback" in done.stderr
    assert "The application could not be loaded: " in done.stderr
    assert "replaced" not in done.stderr


def test_with_a_shared_socket_no_client_waits_for_a_blocked_worker(tmp_path: Path) -> None:
    marker = tmp_path / "blocked"
    with serve(APP, "--workers", "2", "--shared-socket") as served:
        assert eventually(lambda: served.log.count("serving on") == 2)
        with served.connect() as blocked:
            blocked.sendall(get(f"/block-for-long?{marker}", "Connection: close"))
            assert eventually(marker.exists)
            for _ in range(30):
                assert body_of(ask(served, "/")) == b"hello"
            marker.unlink()
            assert body_of(read_all(blocked)) == b"blocked"
        assert served.stop() == 0
