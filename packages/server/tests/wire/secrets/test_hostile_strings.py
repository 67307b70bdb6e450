"""Markup in every text that somebody may give is shown as text, on every page there is.

Each field has a mark of its own, so that it is known of each whether a page shows it. What a field
can't hold is refused, and nothing of it is left.
"""

import asyncio
import gzip
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.notifications import NotificationKind
from rookery.server.farm.findings import FindingKind
from rookery.server.farm.rules.progress import (
    AcceptedCommit,
    BranchCommit,
    EngineProgress,
    MeasuredElo,
)
from rookery.server.notify.outbox import ChannelForm, NotificationChannel
from rookery.server.sources.diffs import Diffs
from rookery.server.sources.survey import SourcePlace
from tests.makers import pairs
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import SPRT
from tests.wire.apis import Api, Json, open_api
from tests.wire.secrets.plants import (
    ARGS,
    ENGINE,
    KEY,
    PROGRAM,
    RECORD,
    TEAM,
    Packer,
    Planted,
    planted,
    with_password,
    worker_of,
)
from tests.wire.secrets.walk import Asked, Walk
from tests.wire.test_login import log_in

pytestmark = pytest.mark.anyio

SCRIPT = "<script>zz()</script>"
PICTURE = "\"'><img src=x onerror=zz()>"
TITLE = "</title><b zz>{{7*7}}"
LINK = "javascript:zz()"
CORPUS = f"{PICTURE} {TITLE} {LINK} http://x.example/{PICTURE}"
RAW = ("<script>zz", "<img src=x", "<b zz", 'href="javascript:zz', "<i>49")
"""None of these stands in a page, unless a text became markup."""


def word(field: str) -> str:
    """A text without blanks."""
    return f"zz-{field}{SCRIPT}"


def words(field: str) -> str:
    return f"{word(field)} {CORPUS}"


def shown_as(field: str) -> str:
    return f"zz-{field}&lt;script&gt;"


RUN: Json = {
    "new_tag": word("new-tag"),
    "base_tag": word("base-tag"),
    "msg_new": words("new-message"),
    "msg_base": words("base-message"),
    "info": words("info"),
    "new_options": f"Hash=16 {word('option')}=1",
    "new_uci": {word("uci-name"): words("uci-value")},
    "new_signature": "1",
    "base_signature": "2",
}
TUNE: Json = {
    "sprt": None,
    "spsa": {"raw_params": f"{word('parameter')},12,0,80,5,0.002"},
    "num_games": 1000,
}
MACHINE: Json = {
    "uname": words("system"),
    "compiler": "g++",
    "worker_arch": word("architecture"),
    "ARCH": word("engine-architecture"),
    "rookery": {
        "os": "linux",
        "cpu": words("processor"),
        "version": word("worker-version"),
        "runner": word("runner"),
        "host": word("host"),
    },
}
RECIPE: Json = {
    "kind": "commands",
    "directory": words("directory"),
    "target": word("target"),
    "variables": {word("variable-name"): words("variable-value")},
    "commands": [words("command")],
    "output": words("output"),
    "compilers": [word("needed-compiler")],
}
RECORD_FIELDS: Json = {
    "recipe": RECIPE,
    "tools": [{"name": "make", "version": word("tool-version")}],
    "cpu_flags": ["avx" + word("cpu-flag")],
    "systems": [word("engine-system")],
    "bench": {"command": words("bench-command")},
    "nets": {"use": "uci_option", "name": word("net-option"), "default": word("default-net")},
    "presets": [{"name": words("preset"), "settings": {"info": words("preset-value")}}],
}
GAMES = (
    f'[Event "{word("event")}"]\n[White "New-{word("white")}"]\n[Black "{word("black")}"]\n'
    f'[Result "1-0"]\n[Termination "{word("termination")}"]\n\n'
    f"1. e4 {{{word('comment')}}} 1-0\n"
)
SHOWN = (
    *("new-tag", "base-tag", "new-message", "base-message", "info", "option", "uci-name"),
    *("uci-value", "stop", "parameter", "system", "architecture", "processor"),
    *("log", "failure", "directory", "variable-name", "variable-value", "command", "output"),
    *("needed-compiler", "tool-version", "bench-command", "net-option", "default-net", "preset"),
    *("program", "chat", "question", "answer", "token", "machine-block", "user-block"),
    *("hook", "diff", "subject", "comment", "repository"),
)
"""Every one of these stands on some page, as text."""


class HostileDiff:
    def diff(self, new: SourcePlace, base: SourcePlace) -> str:
        del new, base
        return f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+{words('diff')}\n"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with open_api(files=tmp_path, archiver=Packer(tmp_path)) as opened:
        yield opened


@pytest.fixture
async def walk(api: Api) -> Walk:
    """By an approver who is in the team of the engine, and so sees all there is."""
    secrets = await planted(api)
    api.site.diffs = Diffs(HostileDiff(), api.site.threads, api.clock)
    # Before all others, so that the machine is given it.
    over, live = await submit(api, priority=10), await submit(api, **TUNE)
    await play(api, over)
    await api.post(f"/api/v1/runs/{over}/stop", OLGA, {"message": words("stop")})
    await describe_engine(api)
    await give_files_and_talk(api)
    await block(api)
    known = Planted((live, over), secrets.program, secrets.runs[0])
    return Walk(api.app, known, {"cookie": await session_of_olga(api)})


async def submit(api: Api, **more: object) -> str:
    args = {name: value for name, value in ARGS.items() if name not in RUN}
    run_id = await api.submitted(OLGA, **args | {"sprt": SPRT} | RUN | more)
    await api.fleet.commands.approve(run_id, Actor("boris", approver=True))
    return run_id


async def play(api: Api, run_id: str) -> None:
    worker = worker_of(api, OLGA, KEY)
    worker.info |= MACHINE
    granted = await worker.request_task()
    assert granted["run"]["_id"] == run_id
    await worker.update(pairs(even=15))
    packed = gzip.compress(GAMES.encode())
    await worker.call("upload_pgn", pgn=b64encode(packed).decode())
    task = await api.site.reads.task(run_id, 0)
    assert task is not None
    await api.site.games.upload(task, packed)
    await worker.call("worker_log", message=words("log"))
    await worker.call("failed_task", message=words("failure"), rookery={"log": words("file")})


async def describe_engine(api: Api) -> None:
    """A record, and what its main branch is said to hold."""
    headers = dict(await api.headers(OLGA))
    record = {**RECORD, **RECORD_FIELDS}
    put = await api.visitor.put(f"/api/v1/engines/{ENGINE}", json=record, headers=headers)
    assert put.status_code == 200, put.text
    measured = {"STC": MeasuredElo(1.0, 1.0)}
    commit = BranchCommit("a" * 40, 0, 0, words("subject"))
    progress = EngineProgress(
        (AcceptedCommit(commit, {"STC": "0" * 24}, measured, measured),), (), {"STC": 1.0}, 1, 1
    )
    rows = api.site.progress_keeping.rows
    await rows.save(FindingKind.PROGRESS, ENGINE, progress, api.clock.now())


async def give_files_and_talk(api: Api) -> None:
    headers = dict(await api.headers(OLGA))
    place = f"/api/v1/binaries?name={quote(word('program'))}"
    given = await api.visitor.post(place, content=PROGRAM + b"2", headers=headers)
    assert given.status_code == 201, given.text
    chat = await api.site.ask.chats.create("olga", word("chat"), temporary=False)
    told = words("question"), words("answer")
    await api.site.ask.chats.remember(chat, "olga", *told, (), begin=False)
    kinds, now = frozenset(NotificationKind), api.clock.now()
    # The first half of an address is shown.
    address = f"https://x.example/{word('hook')}{'x' * 100}"
    channel = NotificationChannel(
        0, "olga", ChannelForm.JSON, address, "", kinds, True, now, 0, now
    )
    await api.site.channels.add(channel)


async def block(api: Api) -> None:
    """A token's note, reasons for blocking a machine and a person, and a granted repository."""
    await api.site.users.save(replace(OLGA, groups=BORIS.groups))
    await api.site.accounts.create_token("olga", frozenset(), note=words("token"))
    granted: dict[str, object] = {"repository": f"https://x.example/{word('repository')}"}
    assert (await api.post("/api/v1/repositories", BORIS, granted)).status_code == 201
    place = f"/api/v1/workers/olga-8cores-{KEY}/block"
    assert (await api.post(place, BORIS, {"message": words("machine-block")})).status_code == 200
    blocked = replace(SVEN, blocked=True, block_reason=words("user-block"))
    await api.site.users.save(blocked)


async def session_of_olga(api: Api) -> str:
    await with_password(api, replace(OLGA, groups=BORIS.groups))
    transport = httpx.ASGITransport(api.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        assert (await log_in(browser, username="olga")).status_code == 302
        return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


async def test_markup_is_shown_as_text_on_every_page(walk: Walk, api: Api) -> None:
    hidden, broken = {*SHOWN}, {}
    chats = [f"/ask/{chat.id}" for chat in await api.site.ask.chats.of("olga")]
    for asked, heard in await walk.ask_all((*walk.reads(), *(Asked("GET", c) for c in chats))):
        await asyncio.sleep(0)
        if "text/html" not in heard.head:
            continue
        hidden -= {field for field in hidden if shown_as(field) in heard.text}
        if found := [each for each in RAW if each in heard.text]:
            broken[str(asked)] = found
    assert broken == {}
    assert hidden == set(), "no page shows these"


REFUSED = (
    ("POST", "/api/v1/teams", {"name": word("team")}),
    ("PUT", f"/api/v1/engines/{quote(word('engine'), safe='')}", {"name": word("engine")}),
    ("PUT", f"/api/v1/books/{quote(word('book'), safe='')}.epd", None),
    ("PUT", f"/api/v1/teams/{TEAM}/members/{quote(word('member'), safe='')}", {"lead": False}),
    ("PATCH", "/api/v1/me", {"repositories": {"Stockfish": LINK}}),
    ("POST", f"/api/v1/workers/{quote(word('machine'), safe='')}/block", {"message": "x"}),
    ("POST", "/api/v1/users", {"name": word("user"), "password": "x" * 20, "email": "a@x.org"}),
)


@pytest.mark.parametrize(("method", "path", "body"), REFUSED)
async def test_a_name_that_holds_markup_is_refused(
    api: Api, method: str, path: str, body: Json | None
) -> None:
    await planted(api)
    headers = dict(await api.headers(OLGA))
    answer = await api.visitor.request(method, path, json=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert "text/html" not in answer.headers["content-type"]


async def test_a_net_goes_by_its_hash_whatever_its_file_was_called(api: Api) -> None:
    headers = dict(await api.headers(OLGA))
    place = f"/api/v1/nets?name={quote(word('net'))}"
    given = await api.visitor.post(place, content=b"weights", headers=headers)
    assert given.status_code in (201, 400), given.text
    assert SCRIPT not in (await api.visitor.get("/api/v1/nets")).text
