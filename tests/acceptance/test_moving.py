"""A farm moves to another machine by the steps of docs/operate.md."""

import hashlib
import shutil
from pathlib import Path
from urllib.request import urlopen

from rookery.core.client.client import Client
from tests.commands import run_command
from tests.faults.serving import made_account
from tests.rookery_process import run_rookery
from tests.submissions import body

NET = b"a net" * 1000
NAME = f"nn-{hashlib.sha256(NET).hexdigest()[:12]}.nnue"


def test_a_farm_goes_on_elsewhere_after_a_backup_was_restored_there(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    (tmp_path / NAME).write_bytes(NET)
    looked = run_command("doctor", data=there, first=True)
    assert "There is no database in" in looked.stdout
    token = made_account(here, settings={}).token
    with run_rookery(here) as server:
        client = Client.at(server.address, token)
        client.give_net(tmp_path / NAME, "")
        run = client.submit(body()).id
        assert server.stop() == 0
    backups = tmp_path / "backups"
    saved = run_command("db", "backup", f"--folder={backups}", data=here)
    assert saved.returncode == 0, saved.stderr
    copied = shutil.copytree(backups, tmp_path / "copied")
    restored = run_command("db", "restore", f"--folder={copied}", data=there, first=True)
    assert restored.returncode == 0, restored.stderr
    with run_rookery(there, first=True) as server:
        assert Client.at(server.address, token).run(run).id == run
        with urlopen(f"{server.address}/api/nn/{NAME}", timeout=60) as answer:
            assert answer.read() == NET
        words = ("doctor", "--public", server.address)
        found = run_command(*words, data=there, settings={"ROOKERY_TOKEN": token})
        assert found.returncode == 0, found.stdout
        assert "client address" in found.stdout
        # That of before is not in itself; there is a new place to back up to.
        assert "there is none" in found.stdout
