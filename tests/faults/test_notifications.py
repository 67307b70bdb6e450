"""kill -9 around the sending of a notification: it is told once more, never not at all."""

import re
import time
from pathlib import Path

import httpx
import pytest

from tests.commands import PASSWORD, add_user
from tests.faults.processes import wait_until_gone
from tests.faults.test_serve_kills import DYING
from tests.receivers import Listener, open_listener
from tests.rookery_process import RookeryProcess, run_rookery

SETTINGS = {"ROOKERY_WEBHOOK_HOSTS": "127.0.0.1"}


def send(browser: httpx.Client, page: str, path: str, **fields: str) -> None:
    token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', browser.get(page).text)
    assert token is not None
    answer = browser.post(path, data={"csrf_token": token[1], **fields})
    assert answer.status_code == 302, answer.text


def make_news(server: RookeryProcess, listener: Listener) -> None:
    """An approver wants to hear of accounts, and somebody asks for one."""
    with httpx.Client(base_url=server.address, timeout=60) as browser:
        send(browser, "/login", "/login", username="boris", password=PASSWORD)
        place = "/profile/notifications"
        fields = {"form": "json", "kind": "account_waiting", "address": listener.address}
        send(browser, place, f"{place}/webhooks", **fields)
    with httpx.Client(base_url=server.address, timeout=60) as stranger:
        form = {"username": "nova", "email": "nova@example.org", "password": PASSWORD}
        send(stranger, "/signup", "/signup", password2=PASSWORD, **form)


@pytest.mark.parametrize(("moment", "calls"), [("notification_due", 1), ("notification_sent", 2)])
def test_a_notification_outlives_a_kill_around_its_sending(
    tmp_path: Path, moment: str, calls: int
) -> None:
    data = tmp_path / "data"
    assert add_user("boris", data, "--approver").returncode == 0
    with open_listener() as listener:
        dying = (*DYING, moment)
        with run_rookery(data, "serve", command=dying, settings=SETTINGS) as server:
            make_news(server, listener)
            assert server.process.wait(60) == -9
            assert len(listener.calls) == calls - 1
        wait_until_gone(data)
        with run_rookery(data, settings=SETTINGS) as again:
            again.until("ready")
            deadline = time.monotonic() + 60
            while len(listener.calls) < calls:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert again.stop() == 0
        assert b"nova" in listener.calls[-1].body
