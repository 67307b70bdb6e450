"""Two servers on one database with files in one place: what one stored the other gives."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from rookery.core.client.client import Client
from rookery.server.db.target import Target
from tests.bucket_server import CREDENTIALS, BucketServer
from tests.faults.serving import made_account
from tests.rookery_process import RookeryProcess, run_rookery

NET = b"a net" * 20_000
NAME = f"nn-{hashlib.sha256(NET).hexdigest()[:12]}.nnue"
INSTALLER = "/worker/install.sh"


@contextmanager
def two_servers(
    folder: Path, settings: dict[str, str]
) -> Iterator[tuple[RookeryProcess, RookeryProcess]]:
    """Both start at once, on an empty database."""
    with (
        run_rookery(folder / "first", settings=settings) as first,
        run_rookery(folder / "second", settings=settings) as second,
    ):
        first.until("ready")
        second.until("ready")
        yield first, second


@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_what_one_server_stored_the_other_gives(
    database: Target, tmp_path: Path, bucket: BucketServer, place: str
) -> None:
    url = bucket.url() if place == "bucket" else str(tmp_path / "shared")
    settings = {"ROOKERY_DATABASE_URL": database.dsn, "ROOKERY_FILES_URL": url} | CREDENTIALS
    (tmp_path / NAME).write_bytes(NET)
    with two_servers(tmp_path, settings) as servers:
        account = made_account(tmp_path / "first", settings=settings)
        for giver, reader in (servers, servers[::-1]):
            client = Client.at(giver.address, account.token)
            client.give_net(tmp_path / NAME, "")
            with urlopen(f"{reader.address}/api/nn/{NAME}", timeout=60) as answer:
                assert answer.read() == NET
            client.remove_net(NAME)
        keys = {_find_key(each.get(INSTALLER)[1]) for each in servers}
        assert len(keys) == 1


def _find_key(script: str) -> str:
    """The digits by which workers know what a server hands out."""
    return script.partition("ROOKERY_FINGERPRINT=")[2].split()[0]
