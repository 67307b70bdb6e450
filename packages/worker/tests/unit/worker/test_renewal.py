"""Which versions a worker takes from its server: those that the pinned key signed."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.http_client import HeldCall
from rookery.core.http_failures import NoAnswer
from rookery.core.protocol.ed25519 import public_key, sign
from rookery.core.protocol.worker_answers import RookeryServer, wheel_message
from rookery.worker.renewal.installation import InstallFolder, is_open_to_all
from rookery.worker.renewal.renewal import Installed, Renewal

SEED, ANOTHER = bytes(range(32)), bytes(32)
WHEEL, DIGEST = "rookery-2.0-py3-none-any.whl", "ab" * 32


class Server:
    """Remembers what was asked for, and has nothing."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.asked: list[str] = []

    def post(self, path: str, body: bytes, held: HeldCall | None = None) -> bytes:
        raise AssertionError(path, body, held)

    def fetch(
        self,
        address: str,
        into: Path,
        *,
        credentials: tuple[str, str] | None,
        most_bytes: int = 0,
    ) -> None:
        del into, credentials, most_bytes
        self.asked.append(address)
        raise NoAnswer("nothing here")


def offer(seed: bytes = SEED, name: str = WHEEL, digest: str = DIGEST) -> RookeryServer:
    signature = sign(seed, wheel_message(name, digest)).hex()
    return RookeryServer("2.0", wheel=WHEEL, sha256=DIGEST, signature=signature)


def offered(
    folder: Path,
    *offers: RookeryServer,
    server: str = "https://farm.example.org",
    allow_http: bool = False,
    key: str = public_key(SEED).hex(),
) -> tuple[list[str], Sequence[str]]:
    """Return what the worker says and asks for when the server offers these, one after the
    other."""
    said: list[str] = []
    (folder / "server.key").write_text(key)
    transport = Server(server)
    renewal = Renewal(
        Installed(InstallFolder(folder), folder / "versions" / "1", "cd" * 32),
        transport,
        Threads(),
        said.append,
        (),
        said.append,
        allow_http=allow_http,
    )

    async def all_of_them() -> None:
        for offer in offers:
            assert not await renewal(offer)

    asyncio.run(all_of_them())
    return said, transport.asked


def test_what_the_pinned_key_signed_is_fetched(tmp_path: Path) -> None:
    _, asked = offered(tmp_path, offer())
    assert asked == [f"/worker/{WHEEL}"]


@pytest.mark.parametrize(
    "forged",
    [
        RookeryServer("2.0", wheel=WHEEL, sha256=DIGEST),
        RookeryServer("2.0", wheel=WHEEL, sha256=DIGEST, signature="no digits"),
        offer(seed=ANOTHER),
        offer(digest="ef" * 32),
        offer(name="rookery-1.0-py3-none-any.whl"),
    ],
)
def test_what_it_did_not_sign_is_not_even_fetched(tmp_path: Path, forged: RookeryServer) -> None:
    (said,), asked = offered(tmp_path, forged, forged)
    assert "not signed with the key that was pinned" in said
    assert asked == []


def test_a_forged_offer_does_not_stand_in_the_way_of_the_real_one(tmp_path: Path) -> None:
    _, asked = offered(tmp_path, offer(seed=ANOTHER), offer())
    assert asked == [f"/worker/{WHEEL}"]


def test_an_installation_without_a_key_takes_nothing(tmp_path: Path) -> None:
    (said,), asked = offered(tmp_path, offer(), key="")
    assert "does not know its server's key; install the worker again" in said
    assert asked == []


def test_nothing_comes_by_http_from_beyond_this_machine_unless_told(tmp_path: Path) -> None:
    (said,), asked = offered(tmp_path, offer(), server="http://farm.example.org")
    assert "is reached by http" in said
    assert "--allow-http" in said
    assert asked == []
    _, asked = offered(tmp_path, offer(), server="http://farm.example.org", allow_http=True)
    assert asked


@pytest.mark.parametrize(
    ("server", "is_open"),
    [
        ("http://farm.example.org", True),
        ("http://192.168.1.5:8000", True),
        ("http://127.0.0.1.example.org", True),
        ("https://farm.example.org", False),
        ("http://localhost:8000", False),
        ("http://127.0.0.1:8000", False),
        ("http://[::1]:8000", False),
    ],
)
def test_http_is_for_this_machine_alone(server: str, is_open: bool) -> None:
    assert is_open_to_all(server) is is_open
