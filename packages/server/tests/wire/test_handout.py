"""What machines fetch that want to work for this server."""

import hashlib
import re
from collections.abc import AsyncIterator

import pytest

from rookery.core.protocol.ed25519 import is_signed
from rookery.core.protocol.worker_answers import wheel_message
from tests.people import OLGA
from tests.twins.sites import PASSWORD
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password

pytestmark = pytest.mark.anyio


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """On a closed site: a machine has no session."""
    async with open_api(login_to_view=True) as opened:
        yield opened


async def test_the_greeting_names_the_wheel_that_is_handed_out(api: Api) -> None:
    await with_password(api, OLGA)
    call = {"password": PASSWORD, "worker_info": {"username": OLGA.name}}
    offer = (await api.visitor.post("/api/request_version", json=call)).json()["rookery"]
    wheel = await api.visitor.get(f"/worker/{offer['wheel']}")
    assert hashlib.sha256(wheel.content).hexdigest() == offer["sha256"]
    public = re.search(r"'([0-9a-f]{64})' <<", (await api.visitor.get("/worker/install.sh")).text)
    assert public
    message = wheel_message(offer["wheel"], offer["sha256"])
    assert is_signed(bytes.fromhex(public[1]), message, bytes.fromhex(offer["signature"]))
    listing = (await api.visitor.get("/worker/")).text
    assert f'href="/worker/{offer["wheel"]}#sha256={offer["sha256"]}"' in listing


async def test_the_script_knows_where_it_came_from(api: Api) -> None:
    text = (await api.visitor.get("/worker/install.sh")).text
    assert "'http://localhost'" in text
    assert "def add_version(" in text
    assert "@SERVER@" not in text


@pytest.mark.parametrize("name", ["requirements.txt", "install.ps1", "installation.py"])
async def test_nothing_else_is_there(api: Api, name: str) -> None:
    assert (await api.visitor.get(f"/worker/{name}")).status_code == 404
