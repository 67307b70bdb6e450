"""A download that a stop of the server cuts short does not look whole."""

import hashlib
import signal
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import pytest

from rookery.core.client.client import Client
from tests.faults.serving import made_account
from tests.faults.test_storage_away import until
from tests.rookery_process import run_rookery

NET = bytes(16 * 2**20)
NAME = f"nn-{hashlib.sha256(NET).hexdigest()[:12]}.nnue"


def test_a_net_that_a_stop_cuts_short_is_no_whole_answer(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(NET)
    token = made_account(tmp_path / "data").token
    with run_rookery(tmp_path / "data") as server:
        Client.at(server.address, token).give_net(tmp_path / NAME, "")
        # Unpacked, so that no length is told beforehand; more than the sockets take up.
        with urlopen(f"{server.address}/api/nn/{NAME}", timeout=60) as answer:
            found = answer.read(2**20)
            server.process.send_signal(signal.SIGTERM)
            until(lambda: "stopping" in {each["event"] for each in server.events()})
            with pytest.raises((HTTPException, ConnectionError)):
                found += answer.read()
    assert len(found) < len(NET)
