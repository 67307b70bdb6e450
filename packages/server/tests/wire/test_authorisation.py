"""Who may do what: every route of the built app, called by everybody.

The tables in authorisation/ have a line for each route; an app with a route that no line calls
fails, and so does a line that calls no route. To add one: write the method, a path and, for each
role of the head line, the answer: `ok` (2xx), `to` (led to another page, which then tells what came
of it) or the status. Names in braces are made anew after each call that changed something
(`Scene.renew`). What a call sends stands indented below its line, as JSON or as the fields of a
form (`name=value&…`), or in BODIES; an empty object where nothing does.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Match, Route
from starlette.types import Message

from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.files.blobs import write_blob
from rookery.server.files.games import GameUpload
from rookery.server.http.inventory import named_routes
from rookery.server.http.scope import WORKER_PATHS
from rookery.server.identity.users import ORDINARY, Scope, User
from rookery.server.sources.commits import mirror_name
from tests.makers import make_machine
from tests.makers import run_id as id_of
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import PLAIN, SPRT, body
from tests.twins.sites import MemorySite
from tests.wire.apis import Api, Json, open_api
from tests.wire.secrets.plants import Packer, with_password
from tests.wire.test_login import log_in, token_in
from tests.wire.worker.farm import worker_info

pytestmark = pytest.mark.anyio

PETRA = replace(OLGA, name="petra", pending=True)
MIA, LENA = replace(OLGA, name="mia"), replace(OLGA, name="lena")
LEAD = Actor("lena")

ROLES: dict[str, tuple[User, frozenset[Scope]]] = {
    "pend": (PETRA, ORDINARY),  # an account that nobody has accepted yet
    "user": (SVEN, ORDINARY),  # has nothing to do with what is asked for
    "ownr": (OLGA, ORDINARY),  # submitted the runs and gave the files; is in the team
    "memb": (MIA, ORDINARY),  # is in the team
    "lead": (LENA, ORDINARY),  # leads the team
    "appr": (BORIS, ORDINARY),  # an approver who is in no team
    "admn": (BORIS, ORDINARY | {Scope.ADMIN}),
    "wrkr": (OLGA, frozenset({Scope.WORKER})),  # the token that lies on a machine of the owner
    # Approvers whose tokens are for one thing each.
    "read": (replace(BORIS, name="rita"), frozenset({Scope.READ})),
    "subm": (replace(BORIS, name="sara"), frozenset({Scope.SUBMIT})),
    "aprv": (replace(BORIS, name="anna"), frozenset({Scope.APPROVE})),
    "adm1": (replace(BORIS, name="adam"), frozenset({Scope.ADMIN})),
}
SESSIONS = {"sess": "boris", "csrf": "boris", "lses": "lena"}
"""Browsers: the approver's without and with the token that its forms carry, and that of who leads
the team, with it. Besides there is `anon`, who shows nothing at all."""

TABLES = Path(__file__).parent / "authorisation"
REPOSITORY = str(PLAIN["tests_repo"])
OPENING = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - id one;\n"
BODIES: dict[str, object] = {
    "POST /api/v1/runs": body(sprt=SPRT),
    "POST /api/v1/runs/preview": body(sprt=SPRT),
    "PUT /api/v1/books/{new}.epd": OPENING,
    "POST /api/v1/nets?name={new}": b"a net",
    "POST /api/v1/binaries?name={new}": b"#!a program",
    "POST /api/v1/ask/documents?name={new}": b"words",
    "POST /documents?name={new}": b"words",
}
"""What calls send that is no JSON, or is long."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; `words` are a call's method and path."""

    words: str
    expected: dict[str, str]
    sent: str = ""

    @property
    def method(self) -> str:
        return self.words.split()[0]

    @property
    def path(self) -> str:
        return self.words.split()[1]


def _read_rows() -> Iterator[Row]:
    for table in sorted(TABLES.glob("*.txt")):
        head, *lines = table.read_text().splitlines()
        roles = head.split()[2:]
        assert set(roles) == {"anon", *ROLES, *SESSIONS}, table
        for line, below in zip(lines, [*lines[1:], ""], strict=True):
            if not line or line.startswith((" ", "#")):
                continue
            method, path, *cells = line.split()
            assert len(cells) == len(roles), f"a cell for each role in: {line}"
            sent = below.strip() if below.startswith(" ") else ""
            yield Row(f"{method} {path}", dict(zip(roles, cells, strict=True)), sent)


ROWS = tuple(_read_rows())


@dataclass(slots=True)
class Scene:
    """A started app, and something of each kind to call for."""

    api: Api
    words: dict[str, str]
    secrets: dict[str, str]
    number: int = 0
    browsers: dict[str, dict[str, str]] = field(default_factory=dict)

    async def renew(self, names: Iterable[str]) -> None:
        """What somebody might have changed or removed, under new names."""
        for name in sorted(names):
            self.number += 1
            self.words[name] = await self._made(name, f"{name.capitalize()}{self.number}")

    async def _made(self, name: str, word: str) -> str:
        site, fleet = self.api.site, self.api.fleet
        if name == "team":
            await site.teams.create(word, LEAD)
            await site.teams.add_member(word, "mia", LEAD)
        elif name in ("open", "secret"):
            word = f"owls~{word}" if name == "secret" else word
            record = EngineRecord(name=word, team="owls", private=name == "secret")
            await site.engines.put(record, LEAD)
        elif name == "granted":
            word = f"https://example.org/{word}"
            await site.repositories.grant(word, "", Actor("boris", approver=True))
        elif name in ("guest", "waiting"):
            await site.users.add(replace(SVEN, name=word, pending=name == "waiting"))
        elif name in ("machine", "token", "chat", "given_net", "secret_given_net"):
            return await self._given_name(name, word)
        elif name == "document":
            take = site.documents.upload
            return (await take(_piece(word.encode()), "a.txt", "olga", shared=False))[0].id
        elif name in ("book", "secret_book"):
            await site.books.upload(_piece(OPENING), f"{word}.epd", "olga")
            await site.file_access.add(f"{word}.epd", "owls~Strix" if name == "secret_book" else "")
            return f"{word}.epd"
        elif name in ("public", "private", "stopped", "deleted"):
            first = self.words["first_private" if name == "private" else "first_public"]
            word = id_of(word)
            await fleet.commands.submit(replace(await fleet.views.known_run(first), id=word))
            if name in ("stopped", "deleted"):
                commands = fleet.commands
                act = commands.stop if name == "stopped" else commands.delete
                await act(word, Actor("olga"))
        return word

    async def _given_name(self, name: str, word: str) -> str:
        """Of what is named by the server."""
        if name == "token":
            return (await self.api.site.accounts.create_token("olga", ORDINARY)).token.id
        if name == "chat":
            return (await self.api.site.ask.chats.create("olga", word, temporary=False)).id
        if name == "machine":
            # Too small for any run, so that it waits.
            key = f"{self.number:08}-1-2-3-4"
            machine = make_machine(user="olga", key=key, memory=1)
            await self.api.fleet.request_task(machine, limit=100)
            return machine.short_name
        engine = "owls~Strix" if name.startswith("secret") else ""
        await _given(self.api, f"/api/v1/nets?name={word}&engine={engine}", word.encode())
        return hashlib.sha256(word.encode()).hexdigest()

    async def status(self, row: Row, role: str) -> str:
        """What somebody is answered."""
        path = row.path.format_map(self.words)
        content = BODIES.get(row.words, row.sent or "{}")
        if path in WORKER_PATHS:
            sent = json.dumps(self._as_worker(role)).encode()
        elif isinstance(content, bytes):
            sent = content
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            sent = _filled(text, self.words)
        headers = await self.headers(role)
        if row.path in ("/login", "/signup") or (row.sent and not row.sent.startswith("{")):
            headers["content-type"] = "application/x-www-form-urlencoded"
        # Each has an address of their own, or the last would have come too often.
        client = f"192.0.2.{list(row.expected).index(role) + 20}"
        status = await _status(self.api.app, f"{row.method} {path}", sent, headers, client)
        changed = status < 400 and row.method != "GET"
        if changed:
            await self.renew(FRESH & names_in(row.words, json.dumps(content, default=str)))
            if path == "/logout":
                self.browsers.clear()
        return "ok" if status < 300 else "to" if status < 400 else str(status)

    def _as_worker(self, role: str) -> Json:
        """Who shows a token shows it in the place of a password, as workers do."""
        user = ROLES[role][0].name if role in ROLES else "boris"
        said: Json = {"password": self.secrets.get(role, ""), "worker_info": worker_info(user)}
        return said | {"run_id": self.words["public"], "task_id": 0}

    async def headers(self, role: str) -> dict[str, str]:
        """Those by which somebody is known."""
        if role in self.secrets:
            return {"authorization": f"Bearer {self.secrets[role]}"}
        if role not in SESSIONS:
            return {}
        user = SESSIONS[role]
        if user not in self.browsers:
            self.browsers[user] = await self._logged_in(user)
        headers = self.browsers[user]
        return {"cookie": headers["cookie"]} if role == "sess" else headers.copy()

    async def _logged_in(self, user: str) -> dict[str, str]:
        """The headers of a browser that somebody is logged in with."""
        browser = self.api.visitor
        assert (await log_in(browser, username=user)).status_code == 302
        token = token_in(await browser.get("/"))
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        browser.cookies.clear()
        return {"cookie": cookie, "x-csrf-token": token}


FRESH = frozenset(
    {"new", "document", "team", "open", "secret", "guest", "waiting", "book", "secret_book"}
    | {"public", "private", "stopped", "deleted", "token", "granted"}
    | {"machine", "chat", "given_net", "secret_given_net"}
)
"""Names of what calls change."""


def names_in(*texts: str) -> set[str]:
    return {name for text in texts for name in re.findall(r"{(\w+)}", text)}


def _filled(text: str, words: dict[str, str]) -> bytes:
    """JSON has braces of its own, so that names are put in one by one."""
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text.encode()


async def _piece(data: bytes) -> AsyncIterator[bytes]:
    yield data


@asynccontextmanager
async def open_scene(
    folder: Path, change: Callable[[MemorySite], None] = lambda site: None
) -> AsyncIterator[Scene]:
    async with open_api(archiver=Packer(folder), files=folder / "files", change=change) as api:
        for user in {user for user, _ in ROLES.values()} - {OLGA, BORIS, SVEN}:
            await api.site.users.add(user)
        secrets = {role: await api.token(user, scopes) for role, (user, scopes) in ROLES.items()}
        for user in (BORIS, LENA):
            await with_password(api, user)
        scene = Scene(api, await _things(api), secrets)
        await scene.renew(FRESH)
        yield scene


async def _things(api: Api) -> dict[str, str]:
    """What stays as it is: a team with a private engine, a run of each kind, and files."""
    site, team = api.site, api.site.teams
    await team.create("owls", LEAD)
    for user in (MIA, OLGA):
        await team.add_member("owls", user.name, LEAD)
    strix = EngineRecord(name="owls~Strix", team="owls", private=True)
    await site.engines.put(strix, LEAD)
    words = {"mirror": mirror_name(REPOSITORY)}
    words |= {"sha_of_pending": "e" * 40, "sha_of_private": "c" * 40, "sha_of_approved": "d" * 40}
    sides: Json = {"new_engine": "owls~Strix", "base_engine": "owls~Strix"}
    words["first_public"] = await api.submitted(OLGA, mirrored=True)
    words["first_private"] = await api.submitted(
        OLGA, **sides, mirrored=True, resolved_new="c" * 40
    )
    await api.submitted(OLGA, mirrored=True, resolved_new="e" * 40)
    words["approved"] = await api.submitted(BORIS, mirrored=True, resolved_new="d" * 40)
    words["task"] = str((await api.granted()).id)
    for number, run in enumerate(("public", "private"), 1):
        call = HeldTask(words[f"first_{run}"], 0, make_machine())
        await site.logs.store(call, "failed_task", "what a machine wrote")
        words[f"{run}_log"] = str(number)
    for run in ("approved", "first_private"):
        key = await site.threads.io(write_blob, site.games.blobs, b"games")
        await site.games.rows.add(GameUpload(words[run], 0, key, 5, site.clock.now()), ())
    for name, engine in (("program", ""), ("secret_program", "owls~Strix")):
        words[name] = await _given(api, f"/api/v1/binaries?engine={engine}", f"#!{name}".encode())
        net = f"nn-{hashlib.sha256(name.encode()).hexdigest()[:12]}.nnue"
        await _given(api, f"/api/v1/nets?name={net}&engine={engine}", name.encode())
        words[name.replace("program", "net")] = net
    return words


async def _given(api: Api, path: str, content: bytes) -> str:
    answer = await api.visitor.post(path, content=content, headers=dict(await api.headers(OLGA)))
    assert answer.status_code == 201, answer.text
    return str(answer.json().get("sha256", ""))


async def _status(
    app: Starlette, called: str, content: bytes, headers: dict[str, str], client: str
) -> int:
    """An answer's status; a stream is left as soon as it begins."""
    method, path = called.split()
    bare, _, query = path.partition("?")
    given = {"host": "localhost", "content-length": str(len(content)), **headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": bare,
        "raw_path": bare.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": (client, 1),
        "server": ("127.0.0.1", 80),
    }
    begun: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
    gone, waiting = asyncio.Event(), [content]

    async def receive() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            begun.set_result(dict(message))

    task = asyncio.ensure_future(app(scope, receive, send))
    status = int((await begun)["status"])
    gone.set()
    await task
    return status


def routes_of(app: Starlette) -> set[tuple[str, str]]:
    return {
        (method, route.path)
        for _, route in named_routes(app.routes)
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }


def route_called(app: Starlette, row: Row) -> tuple[str, str] | None:
    bare = row.path.partition("?")[0]
    for name in ("public_log", "private_log"):
        bare = bare.replace(f"{{{name}}}", "1")
    scope = {"type": "http", "method": row.method, "path": bare, "root_path": "", "headers": []}
    for _, route in named_routes(app.routes):
        if isinstance(route, Route) and route.matches(scope)[0] is Match.FULL:
            return row.method, route.path
    return None


async def test_every_route_has_a_row_and_every_row_a_route() -> None:
    async with open_api() as api:
        called = {}
        for row in ROWS:
            called[row.words] = route_called(api.app, row)
            # The search is the test's own work, and the loop has other things to do.
            await asyncio.sleep(0)
        routes = routes_of(api.app)
    missing = sorted(routes - set(called.values()))
    assert not missing, f"routes without a row: {missing}"
    lost = [words for words, route in called.items() if route is None]
    assert not lost, f"rows without a route: {lost}"
    assert not [words for words in BODIES if words not in called], "bodies without a row"


async def test_everybody_is_answered_as_the_table_says(tmp_path: Path) -> None:
    wrong = []
    async with open_scene(tmp_path) as scene:
        for row in ROWS:
            found = {role: await scene.status(row, role) for role in row.expected}
            if found != row.expected:
                wrong.append(f"{row.words:58}{' '.join(f'{cell:4}' for cell in found.values())}")
    assert not wrong, "\n" + "\n".join(wrong)
