"""Markup in every text that somebody may give is shown as text, on every page there is."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from rookery.rules.lifecycle import Actor
from tests.makers import pairs
from tests.people import BORIS, OLGA
from tests.submissions import SPRT
from tests.wire.apis import Api, Json, open_api
from tests.wire.secrets.plants import (
    ARGS,
    ENGINE,
    KEY,
    RECORD,
    Packer,
    Planted,
    planted,
    with_password,
    worker_of,
)
from tests.wire.secrets.walk import Walk
from tests.wire.test_login import log_in

pytestmark = pytest.mark.anyio

SCRIPT = "<script>zz()</script>"
PICTURE = "\"'><img src=x onerror=zz()>"
TITLE = "</title><b zz>{{7*7}}"
LINK = "javascript:zz()"
CORPUS = f"{SCRIPT} {PICTURE} {TITLE} {LINK} http://x.example/{PICTURE}"
RAW = ("<script>zz", "<img src=x", "<b zz", 'href="javascript:zz', "<i>49")
"""None of these stands in a page, unless a text became markup."""
ESCAPED = "&lt;script&gt;zz()"
FIELDS: Json = {
    "sprt": SPRT,
    "new_tag": f"a{PICTURE}",
    "base_tag": f"b{SCRIPT}",
    "msg_new": CORPUS,
    "msg_base": CORPUS,
    "info": CORPUS,
    "new_options": f"Hash=16 A{SCRIPT}=1",
    "new_uci": {f"U{PICTURE}": CORPUS},
    "new_signature": "1",
    "base_signature": "2",
}


@pytest.fixture
async def walk(tmp_path: Path) -> AsyncIterator[Walk]:
    """By an approver who is in the team of the engine, and so sees all there is."""
    async with open_api(files=tmp_path, archiver=Packer(tmp_path)) as api:
        secrets = await planted(api)
        over, live = await submit(api), await submit(api)
        await play(api, over)
        await api.post(f"/api/v1/runs/{over}/stop", OLGA, {"message": CORPUS})
        await describe_engine(api)
        known = Planted((live, over), secrets.program, secrets.runs[0])
        yield Walk(api.app, known, {"cookie": await session_of_olga(api)})


async def submit(api: Api) -> str:
    args = {name: value for name, value in ARGS.items() if name not in FIELDS}
    run_id = await api.submitted(OLGA, **args | FIELDS)
    await api.fleet.commands.approve(run_id, Actor("boris", approver=True))
    return run_id


async def play(api: Api, run_id: str) -> None:
    worker = worker_of(api, OLGA, KEY, uname=f"U {PICTURE}", compiler="g++")
    for _ in range(3):
        granted = await worker.request_task()
        if granted["run"]["_id"] == run_id:
            break
    await worker.update(pairs(even=15))
    await worker.call("worker_log", message=CORPUS)
    await worker.call("failed_task", message=CORPUS, rookery={"log": CORPUS})


async def describe_engine(api: Api) -> None:
    """An engine's record, a note of a token, a reason for a block."""
    headers = dict(await api.headers(OLGA))
    preset = {"name": f"P{PICTURE}", "settings": {"info": CORPUS}}
    record = {**RECORD, "presets": [preset]}
    put = await api.visitor.put(f"/api/v1/engines/{ENGINE}", json=record, headers=headers)
    assert put.status_code == 200, put.text
    await api.site.users.save(replace(OLGA, groups=BORIS.groups))
    await api.site.accounts.create_token("olga", frozenset(), note=CORPUS)
    block = f"/api/v1/workers/olga-8cores-{KEY}/block"
    assert (await api.post(block, BORIS, {"message": CORPUS})).status_code == 200


async def session_of_olga(api: Api) -> str:
    await with_password(api, replace(OLGA, groups=BORIS.groups))
    transport = httpx.ASGITransport(api.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        assert (await log_in(browser, username="olga")).status_code == 302
        return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


async def test_markup_is_shown_as_text_on_every_page(walk: Walk) -> None:
    shown, broken = set(), {}
    for asked, heard in await walk.ask_all(walk.reads()):
        await asyncio.sleep(0)
        if "text/html" not in heard.head:
            continue
        if ESCAPED in heard.text:
            shown.add(asked.path)
        if found := [word for word in RAW if word in heard.text]:
            broken[str(asked)] = found
    assert broken == {}
    assert len(shown) >= 8, shown
