"""Files are moved from a folder to a bucket while two servers take uploads and are read from."""

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from threading import Event, Thread
from urllib.error import HTTPError
from urllib.request import urlopen

from rookery.core.client.client import Client
from rookery.core.http_failures import CallFailed
from rookery.server.db.target import Target
from tests.bucket_server import CREDENTIALS, BucketServer
from tests.commands import run_command
from tests.faults.serving import made_account
from tests.rookery_process import LIMIT_SECONDS, RookeryProcess, run_rookery

PAUSE_SECONDS = 0.1


@dataclass
class Uploads:
    """Somebody who gives one net after the other, to whichever server takes it, and then reads it
    from all."""

    token: str
    folder: Path
    addresses: list[str]
    given: dict[str, bytes] = field(default_factory=dict)
    """What a server has acknowledged."""
    reads: Counter[str] = field(default_factory=Counter)
    """What became of them; a server that is being restarted answers nothing."""
    over: Event = field(default_factory=Event)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        thread = Thread(target=self._give_all)
        thread.start()
        try:
            yield
        finally:
            self.over.set()
            thread.join(LIMIT_SECONDS)
            assert not thread.is_alive()

    def more(self, count: int = 3) -> None:
        """Waits until so many more are stored."""
        wanted, deadline = len(self.given) + count, time.monotonic() + LIMIT_SECONDS
        while len(self.given) < wanted:
            assert time.monotonic() < deadline, "no server takes uploads"
            time.sleep(PAUSE_SECONDS)

    def _give_all(self) -> None:
        number = 0
        while not self.over.wait(PAUSE_SECONDS):
            net = f"net {number} ".encode() * 1000
            file = self.folder / f"nn-{hashlib.sha256(net).hexdigest()[:12]}.nnue"
            file.write_bytes(net)
            # Odd ones try the second server first.
            for address in self.addresses[:: -1 if number % 2 else 1]:
                try:
                    Client.at(address, self.token).give_net(file, "")
                except CallFailed:
                    continue
                self.given[file.name] = net
                self.reads.update(self._read(each, file.name, net) for each in self.addresses)
                break
            number += 1

    def _read(self, address: str, name: str, net: bytes) -> str:
        try:
            with urlopen(f"{address}/api/nn/{name}", timeout=60) as answer:
                found = answer.read()
        except HTTPError as error:
            return "put off" if error.code == 503 else f"{error.code} {error.read()!r}"
        except (OSError, HTTPException):
            return "no answer"
        return "read" if found == net else f"{len(found)} of {len(net)} bytes"


def succeed(*words: str, data: Path, settings: Mapping[str, str]) -> str:
    """What a command says; it must succeed."""
    done = run_command(*words, data=data, settings=settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_files_are_moved_to_a_bucket_while_two_servers_take_uploads_and_miss_none(
    database: Target, tmp_path: Path, bucket: BucketServer
) -> None:
    shared, data = str(tmp_path / "shared"), tmp_path / "first"
    before = {"ROOKERY_DATABASE_URL": database.dsn, "ROOKERY_FILES_URL": shared} | CREDENTIALS
    reading = before | {"ROOKERY_FILES_OLD_URL": bucket.url()}
    after = before | {"ROOKERY_FILES_URL": bucket.url(), "ROOKERY_FILES_OLD_URL": shared}
    (tmp_path / "nets").mkdir()
    with ExitStack() as running:

        def start(name: str, settings: Mapping[str, str]) -> RookeryProcess:
            server = running.enter_context(run_rookery(tmp_path / name, settings=settings))
            server.until("ready")
            return server

        servers = [start(name, before) for name in ("first", "second")]
        token = made_account(data, settings=before).token
        uploads = Uploads(token, tmp_path / "nets", [each.address for each in servers])

        def restart_each(settings: Mapping[str, str]) -> None:
            """One after the other, with uploads while one of them is on the settings before."""
            for number, name in enumerate(("first", "second")):
                assert servers[number].stop() == 0
                uploads.more()
                servers[number] = start(name, settings)
                uploads.addresses[number] = servers[number].address
                uploads.more()

        with uploads.going_on():
            uploads.more()
            succeed("files", "move", f"--to={bucket.url()}", data=data, settings=before)
            restart_each(reading)
            restart_each(after)
            said = succeed("files", "move", data=data, settings=after)
            uploads.more()
        assert "each compared with its original" in said
        assert uploads.reads.keys() <= {"read", "no answer", "put off"}
        assert uploads.reads["read"] > len(uploads.given)
        last = {name: value for name, value in after.items() if name != "ROOKERY_FILES_OLD_URL"}
        checked = succeed("files", "check", data=data, settings=last)
        (nets,) = [line.split() for line in checked.splitlines() if line.startswith("nets")]
        assert int(nets[1].replace(",", "")) >= len(uploads.given)
        assert nets[3] == "0"
        for name, net in uploads.given.items():
            with urlopen(f"{servers[1].address}/api/nn/{name}", timeout=60) as answer:
                assert answer.read() == net
