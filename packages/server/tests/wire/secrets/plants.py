"""A private engine with a secret in every place that its team may fill."""

import gzip
import hashlib
from base64 import b64encode
from dataclasses import dataclass, replace
from pathlib import Path

from rookery.core.model.actor import Actor
from rookery.server.files.blobs import write_blob
from rookery.server.files.games import GameUpload
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import User
from rookery.server.sources.commits import Archive
from tests.makers import pairs
from tests.people import BORIS, OLGA
from tests.submissions import SPRT
from tests.twins.sites import PASSWORD
from tests.wire.apis import Api, Json
from tests.wire.worker.farm import Worker, worker_info

REPOSITORY = "https://github.com/zqowner/zqfork"
TEAM, ENGINE, BOOK = "zqteam", "zqteam~zqengine", "zqteam~zqbook.epd"
KEY = "5ec4e7aa"
NET = b"zqnetbytes" * 100
NET_NAME = f"nn-{hashlib.sha256(NET).hexdigest()[:12]}.nnue"
PROGRAM = b"#!zqprogrambytes"
OPENING = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - id zqopening;\n"
GAMES = '[White "zqplayer"]\n[Black "zqother"]\n[Result "1-0"]\n\n1. e4 1-0\n'
RECORD: Json = {
    "name": ENGINE,
    "team": TEAM,
    "private": True,
    "source": "https://example.org/zqsource",
    "presets": [{"name": "zqpreset", "settings": {"tc": "1+0.01"}}],
}
ARGS: Json = {
    "sprt": SPRT,
    "new_engine": ENGINE,
    "base_engine": ENGINE,
    "new_tag": "zqbranch",
    "base_tag": "zqmaster",
    "msg_new": "zqcommit",
    "info": "zqinfo",
    "new_options": "Hash=16 zqoption=1",
    "new_uci": {"zquci": "a b"},
    "new_nets": ["zqnet.bin"],
    "tests_repo": REPOSITORY,
    "mirrored": True,
    "book": BOOK,
    "book_sri": None,
}
SECRETS = (
    *(TEAM, ENGINE, BOOK, KEY, NET_NAME, "zqnetbytes", "zqprogrambytes", "zqopening"),
    *("zqplayer", "zqsource", "zqpreset", "zqbranch", "zqmaster", "zqcommit", "zqinfo"),
    *("zqoption", "zquci", "zqnet.bin", "zqowner", "zquname", "zqlog", "zqerror", "zqfile"),
    *("zqstop", "zqnew", "zqarchive"),
)
"""Each is found by a member somewhere, or it was not planted."""


@dataclass(frozen=True, slots=True)
class Planted:
    """What a stranger may have heard of and asks for."""

    runs: tuple[str, str]
    program: str
    shown: str
    """A run of an engine that everybody knows."""

    @property
    def secrets(self) -> tuple[str, ...]:
        return (*SECRETS, *self.runs, self.program)


@dataclass(frozen=True, slots=True)
class Packer:
    """An archiver that finds a secret in every repository."""

    folder: Path

    def archive(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        del repository, known
        file = self.folder / f"{commit}.zip"
        file.write_bytes(b"zqarchive")
        return Archive(file)

    def forget_archives(self, days: int) -> None:
        """They stay."""


async def planted(api: Api) -> Planted:
    """One run at play and one that is over, by olga, whose worker plays them."""
    await with_password(api, OLGA)
    await _team_and_engine(api)
    program = await _files(api)
    worker = worker_of(api, OLGA, KEY, uname="zquname")
    over = await _submitted(api, {**ARGS, "new_binary": program, "new_tag": "zqnew"})
    await _failed(worker, over)
    await api.post(f"/api/v1/runs/{over}/stop", OLGA, {"message": "zqstop"})
    purged = await api.post(f"/api/v1/runs/{over}/purge", OLGA)
    assert purged.status_code == 200, purged.text
    live = await _submitted(api, ARGS)
    await _played(api, worker, live)
    shown = await api.submitted(BORIS, sprt=SPRT, priority=-1)
    return Planted((live, over), program, shown)


async def with_password(api: Api, user: User) -> None:
    hashed = await Passwords(api.site.threads, api.clock, b"key").hash(PASSWORD)
    await api.site.users.save(replace(user, password_hash=hashed))


def worker_of(api: Api, user: User, key: str, **fields: object) -> Worker:
    return Worker(api.visitor, worker_info(user.name, key, rookery={"os": "linux"}, **fields))


async def _team_and_engine(api: Api) -> None:
    assert (await api.post("/api/v1/teams", OLGA, {"name": TEAM})).status_code == 201
    headers = dict(await api.headers(OLGA))
    put = await api.visitor.put(f"/api/v1/engines/{ENGINE}", json=RECORD, headers=headers)
    assert put.status_code == 201, put.text


async def _files(api: Api) -> str:
    """A net, a book and a program; the hash of the program."""
    headers = dict(await api.headers(OLGA))
    place = f"/api/v1/nets?name={NET_NAME}&engine={ENGINE}"
    net = await api.visitor.post(place, content=NET, headers=headers)
    assert net.status_code == 201, net.text
    place = f"/api/v1/books/{BOOK}?engine={ENGINE}"
    book = await api.visitor.put(place, content=OPENING, headers=headers)
    assert book.status_code == 200, book.text
    place = f"/api/v1/binaries?name=zqprogramname&engine={ENGINE}"
    program = await api.visitor.post(place, content=PROGRAM, headers=headers)
    return str(program.json()["sha256"])


async def _submitted(api: Api, args: Json) -> str:
    run_id = await api.submitted(OLGA, **args)
    await api.fleet.commands.approve(run_id, Actor("boris", approver=True))
    return run_id


async def _played(api: Api, worker: Worker, run_id: str) -> None:
    granted = await worker.request_task()
    assert granted["run"]["_id"] == run_id
    await worker.update(pairs(even=15))
    await worker.call("upload_pgn", pgn=b64encode(gzip.compress(GAMES.encode())).decode())
    await worker.call("worker_log", message="zqlog")
    site, packed = api.site, gzip.compress(GAMES.encode())
    key = await site.threads.io(write_blob, site.games.blobs, packed)
    await site.games.rows.add(GameUpload(run_id, 0, key, len(packed), site.clock.now()), ())


async def _failed(worker: Worker, run_id: str) -> None:
    granted = await worker.request_task()
    assert granted["run"]["_id"] == run_id
    await worker.update(pairs(even=15, crashes=9))
    await worker.call("failed_task", message="zqerror", rookery={"log": "zqfile"})
