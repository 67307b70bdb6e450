"""Ask on a real database and a real server: many streams at once, whoever answers them."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from rookery.core.boundary.errors import OnTheLoop
from rookery.core.protocol.ask import AskAnswer
from rookery.server.app.build import new_process, open_app
from rookery.server.app.site import Site
from rookery.server.ask.chat import Question
from rookery.server.ask.passages import Asker
from rookery.server.ask.pipeline import BridgedSteps, query_rag, query_rag_stream
from rookery.server.db.target import Target
from rookery.server.identity.users import ORDINARY
from rookery.server.settings import Settings
from tests.acceptance.test_post_mortem import get, serving
from tests.documents import RAZORING
from tests.eventually import eventually
from tests.fakes import RecordedLog
from tests.model_server import ANSWER, open_model
from tests.people import OLGA

pytestmark = pytest.mark.anyio

STREAMS = 200
RAZOR = replace(RAZORING, engine="Stockfish", engines=("Stockfish",))
WANTED = Question(text="Was razoring tried?", asker=Asker(name="olga"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Farm:
    """A site with one passage and one user, and what went wrong on its loop."""

    app: Starlette
    site: Site
    token: str
    faults: list[dict[str, object]]
    log: RecordedLog

    @property
    def errors(self) -> list[str]:
        return [line for line, _ in self.log.lines if line in ("request_failed", "job_failed")]


@asynccontextmanager
async def open_farm(folder: Path, database: Target, **more: object) -> AsyncIterator[Farm]:
    settings = Settings(
        data=folder,
        database_url=database.dsn,
        ask_answers=1000,
        ask_sessions=1000,
        **more,  # type: ignore[arg-type]  # as the test names them
    )
    log, faults = RecordedLog(), list[dict[str, object]]()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: faults.append(context))
    async with open_app(settings, new_process(settings, log)) as (app, site):
        await site.users.add(OLGA)
        await site.passages.apply((RAZOR,), ())
        minted = await site.accounts.create_token("olga", ORDINARY)
        yield Farm(app, site, minted.secret, faults, log)
    loop.set_exception_handler(None)


async def ask(port: int, token: str, *, leave: bytes = b"") -> str:
    """A stream, read to its end or until it holds certain words."""
    body = json.dumps({"query": WANTED.text})
    more = f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    return await call(port, "POST /query/stream", more, leave)


async def call(port: int, what: str, more: str = "\r\n", leave: bytes = b"") -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"{what} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    writer.write((head + more).encode())
    answer = await (reader.readuntil(leave) if leave else reader.read(-1))
    writer.close()
    return answer.decode()


def told(answer: str) -> str:
    """How a stream ended."""
    return next((name for name in ("done", "error") if f"event: {name}\n" in answer), answer[:200])


async def is_idle(site: Site) -> None:
    """Nobody holds a connection, a thread, a crossing or a place any more."""
    pool, bridge, gate = site.pool_stats, site.bridge, site.ask.gate
    assert bridge is not None
    await eventually(lambda: gate.stats().inside == 0 and bridge.stats().inside == 0, seconds=10)
    await eventually(
        lambda: all(lane.running == 0 for lane in site.threads.stats()[:1]), seconds=10
    )

    def is_given_back() -> bool:
        found = pool()
        return found is not None and found.size == found.idle

    await eventually(is_given_back, seconds=10)
    names = [task.get_name() for task in asyncio.all_tasks()]
    assert not [name for name in names if name in ("ask answer", "bridge crossing")]


@pytest.mark.parametrize("pipeline", ["direct", "threaded"])
async def test_two_hundred_streams_without_a_model_end_whole_while_the_loop_answers(
    pipeline: str, tmp_path: Path, database: Target
) -> None:
    async with (
        open_farm(tmp_path, database, ask_pipeline=pipeline) as farm,
        serving(farm.app) as port,
    ):
        answers, pongs = await ask_many(port, farm.token)
        await is_idle(farm.site)
        bridge = farm.site.bridge
        assert bridge is not None
        assert [told(each) for each in answers] == ["done"] * STREAMS
        assert (pongs > 3, farm.faults, farm.errors) == (True, [], [])
        assert bridge.stats().calls == (4 * STREAMS if pipeline == "threaded" else 0)
        assert bridge.stats().refused == 0


@pytest.mark.parametrize("pipeline", ["direct", "threaded"])
async def test_two_hundred_streams_of_a_model_end_well_or_with_an_error_and_leak_nothing(
    pipeline: str, tmp_path: Path, database: Target
) -> None:
    chosen: dict[str, object] = {"ask_pipeline": pipeline, "ask_backend": "openai"}
    limits: dict[str, object] = {"ask_model": "tiny", "ask_first_seconds": 8}
    async with open_model("whole,breaks,garbage,hangs", pause=0.01) as model:
        address: dict[str, object] = {"ask_model_url": model.url, "ask_model_questions": 0}
        async with (
            open_farm(tmp_path, database, **chosen | limits | address) as farm,
            serving(farm.app) as port,
        ):
            answers, pongs = await ask_many(port, farm.token)
            await is_idle(farm.site)
            ended = [told(each) for each in answers]
            whole = [each for each in answers if said(each) == ANSWER]
            await eventually(lambda: model.open == 0, seconds=10)
            assert (ended.count("done"), ended.count("error")) == (50, 150)
            assert (len(whole), pongs > 3, farm.faults, farm.errors) == (50, True, [], [])
            assert len(await farm.site.ask.chats.of("olga")) == 50


@pytest.mark.parametrize("pipeline", ["direct", "threaded"])
async def test_readers_that_leave_free_everything(
    pipeline: str, tmp_path: Path, database: Target
) -> None:
    chosen: dict[str, object] = {"ask_pipeline": pipeline, "ask_backend": "openai"}
    async with open_model("hangs") as model:
        limits: dict[str, object] = {"ask_model": "tiny", "ask_first_seconds": 600}
        async with (
            open_farm(tmp_path, database, ask_model_url=model.url, **chosen | limits) as farm,
            serving(farm.app) as port,
        ):
            async with anyio.create_task_group() as group:
                for _ in range(20):
                    group.start_soon(leave_early, port, farm.token)
            await is_idle(farm.site)
            await eventually(lambda: model.open == 0, seconds=10)
            assert (farm.faults, farm.errors) == ([], [])
            assert await farm.site.ask.chats.of("olga") == ()


async def leave_early(port: int, token: str) -> None:
    await ask(port, token, leave=b"event: token")


def said(answer: str) -> str:
    pieces = [line[6:] for line in answer.splitlines() if line.startswith('data: {"text"')]
    return "".join(json.loads(piece)["text"] for piece in pieces)


async def ask_many(port: int, token: str) -> tuple[list[str], int]:
    """Streams at once, and how often the loop answered beside them."""
    answers, pongs = list[str](), 0

    async def read() -> None:
        answers.append(await ask(port, token))

    async def ping() -> None:
        nonlocal pongs
        while len(answers) < STREAMS:
            pongs += "alive" in await call(port, "GET /healthz")

    async with anyio.create_task_group() as group:
        group.start_soon(ping)
        for _ in range(STREAMS):
            group.start_soon(read)
    return answers, pongs


# The blocking functions on every kind of thread.


def make_app(steps: BridgedSteps) -> Starlette:
    """Every row of the table "which thread am I on" as a route."""

    def answer() -> AskAnswer:
        return query_rag(steps, WANTED)

    async def on_the_loop(request: Request) -> Response:
        return JSONResponse(answer().answer)

    def in_a_thread(request: Request) -> Response:
        return JSONResponse(answer().answer)

    async def in_an_executor(request: Request) -> Response:
        loop = asyncio.get_running_loop()
        return JSONResponse((await loop.run_in_executor(None, answer)).answer)

    def pieces() -> Iterator[str]:
        for event in query_rag_stream(steps, WANTED):
            yield f"{event}\n"

    async def generator(request: Request) -> Response:
        return StreamingResponse(pieces())

    async def ping(request: Request) -> Response:
        return PlainTextResponse("pong")

    endpoints: tuple[Callable[[Request], Response | Awaitable[Response]], ...] = (
        on_the_loop,
        in_a_thread,
        in_an_executor,
        generator,
        ping,
    )
    return Starlette(routes=[Route(f"/{one.__name__}", one) for one in endpoints])


async def test_the_blocking_pipeline_works_on_every_thread_but_the_loops(
    tmp_path: Path, database: Target
) -> None:
    async with open_farm(tmp_path, database) as farm:
        steps = BridgedSteps(farm.site.ask.steps, lambda: farm.site.bridge)
        async with serving(make_app(steps)) as port:
            for path in ("in_a_thread", "in_an_executor", "generator"):
                answer = await get(port, path)
                assert answer.startswith("HTTP/1.1 200"), path
                assert "Bigger razoring margin" in answer, path
            assert (await get(port, "on_the_loop")).startswith("HTTP/1.1 500")
            assert (await get(port, "ping")).endswith("pong")
        with pytest.raises(OnTheLoop):
            query_rag(steps, WANTED)
        found = list[AskAnswer]()
        worker = threading.Thread(target=lambda: found.append(query_rag(steps, WANTED)))
        worker.start()
        await eventually(lambda: bool(found))
        await is_idle(farm.site)
        assert len(await farm.site.ask.chats.of("olga")) == 4
