"""Ask on LlamaIndex's chat engine, with a real database behind the bridge."""

import asyncio
import gc
import statistics
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import anyio.to_thread
import pytest
from llama_index.core.base.llms.types import ChatMessage as LlamaMessage
from llama_index.core.base.llms.types import MessageRole
from starlette.responses import StreamingResponse

from rookery.core.boundary.errors import OnAnotherLoop, OnTheLoop
from rookery.core.http_client import HeldCall
from rookery.core.protocol.ask import AskAnswer, AskEvent, DoneEvent, SourceList, TokenEvent
from rookery.llamaindex.pipeline import (
    AnswerState,
    BM25Retriever,
    NotStored,
    PostgresChatStore,
    query_rag,
    query_rag_stream,
)
from rookery.server.ask.chat import Question
from rookery.server.ask.pipeline import BridgedSteps
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from tests.eventually import eventually
from tests.llamaindex.pipelines import OLGA, QUESTIONS, Stand, open_stand
from tests.people import OLGA as USER
from tests.wire import test_ask as over_http

pytestmark = pytest.mark.anyio

STREAMS = 200
QUESTION = Question(text="Has a bigger razoring margin been tried?", asker=OLGA)


@pytest.fixture
async def stand(database: Target, queries: Queries) -> AsyncIterator[Stand]:
    async with open_stand(database, queries) as opened:
        yield opened


async def test_the_shipped_questions_have_the_same_ten_sources_and_answers(stand: Stand) -> None:
    direct, llamaindex = stand.choose("direct"), stand.choose("llamaindex")
    for text in QUESTIONS:
        question = Question(text=text, asker=OLGA)
        expected, found = [await stand.ask(each, question) for each in (direct, llamaindex)]
        assert isinstance(found[0], SourceList)
        assert found[0].sources
        assert found[0] == expected[0]
        assert _text(found) == _text(expected)


async def test_a_question_that_leans_on_another_has_the_same_sources(stand: Stand) -> None:
    llamaindex = stand.choose("llamaindex")
    done = (await stand.ask(llamaindex, QUESTION))[-1]
    assert isinstance(done, DoneEvent)
    leaning = Question(text="and at long time control?", asker=OLGA, session=done.session_id)
    first = [(await stand.ask(each, leaning))[0] for each in (llamaindex, stand.choose("direct"))]
    assert first[0] == first[1]
    history = await stand.read_history(done.session_id)
    assert [message.role for message in history] == ["user", "assistant"] * 3


async def test_nothing_found_is_said_as_the_direct_pipeline_says_it(stand: Stand) -> None:
    question = Question(text="zugzwangulation", asker=OLGA)
    found = await stand.ask(stand.choose("llamaindex"), question)
    assert found[0] == SourceList(sources=())
    assert _text(found) == _text(await stand.ask(stand.choose("direct"), question))


def _text(events: list[AskEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokenEvent)).strip()


# From which threads it can be called


async def in_handlers_thread(call: Callable[[], AskAnswer]) -> AskAnswer:
    return await anyio.to_thread.run_sync(call)


async def in_executor(call: Callable[[], AskAnswer]) -> AskAnswer:
    return await asyncio.get_running_loop().run_in_executor(None, call)


async def in_thread_of_its_own(call: Callable[[], AskAnswer]) -> AskAnswer:
    found: list[AskAnswer] = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    await eventually(lambda: not thread.is_alive())
    return found[0]


@pytest.mark.parametrize("run", [in_handlers_thread, in_executor, in_thread_of_its_own])
async def test_it_works_in_any_thread(
    run: Callable[[Callable[[], AskAnswer]], object], stand: Stand
) -> None:
    answer = await run(lambda: query_rag(stand.bridged, QUESTION))  # type: ignore[misc]
    assert len(answer.sources) == 10
    assert len(await stand.read_history(answer.session_id)) == 2


async def test_it_works_as_the_generator_of_a_streaming_response(stand: Stand) -> None:
    def write_pieces() -> Iterator[str]:
        for event in query_rag_stream(stand.bridged, QUESTION):
            yield event.text if isinstance(event, TokenEvent) else ""

    response = StreamingResponse(write_pieces())
    pieces = [str(piece) async for piece in response.body_iterator]
    assert "razoring" in "".join(pieces)


async def test_on_the_loop_it_is_refused_at_once(stand: Stand) -> None:
    with pytest.raises(OnTheLoop):
        query_rag(stand.bridged, QUESTION)
    with pytest.raises(OnTheLoop):
        next(query_rag_stream(stand.bridged, QUESTION))
    assert stand.bridge.stats().refused_on_loop == 2


# The adapters' async methods are for the loop


async def test_async_methods_await_on_the_loop_itself(stand: Stand) -> None:
    state = AnswerState(stand.bridged, QUESTION, HeldCall(0.0))
    store, retriever = PostgresChatStore(state), BM25Retriever(state)
    assert await store.aget_messages("new") == []
    assert len(await retriever.aretrieve(QUESTION.text)) == 10
    await store.async_add_message("new", LlamaMessage(role=MessageRole.ASSISTANT, content="yes"))
    session = Question(text="x", asker=OLGA, session=state.session)
    again = PostgresChatStore(AnswerState(stand.bridged, session, HeldCall(0.0)))
    assert [message.content for message in await again.aget_messages("")] == [QUESTION.text, "yes"]
    await again.adelete_messages("")
    assert await again.aget_messages("") == []
    assert stand.bridge.stats().calls == 0


async def test_async_methods_refuse_another_loop(stand: Stand) -> None:
    retriever = BM25Retriever(AnswerState(stand.bridged, QUESTION, HeldCall(0.0)))
    refused: list[bool] = []

    def run_elsewhere() -> None:
        with pytest.raises(OnAnotherLoop):
            asyncio.run(retriever.aretrieve("razoring"))
        refused.append(True)

    thread = threading.Thread(target=run_elsewhere)
    thread.start()
    await eventually(lambda: not thread.is_alive())
    assert refused == [True]


# Many at once, and endings that are not whole


async def test_two_hundred_streams_leave_nothing_behind(stand: Stand) -> None:
    troubles: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: troubles.append(context))
    llamaindex = stand.choose("llamaindex")
    await stand.ask(llamaindex, QUESTION)
    calls, tasks = stand.bridge.stats().calls, len(asyncio.all_tasks())
    streams = [asyncio.ensure_future(stand.ask(llamaindex, QUESTION)) for _ in range(STREAMS)]
    waits = await measure_pings(streams)
    whole = [await each for each in streams]
    assert all(isinstance(events[-1], DoneEvent) for events in whole)
    assert len({events[-1].session_id for events in whole}) == STREAMS  # type: ignore[union-attr]
    assert stand.bridge.stats().calls - calls == 4 * STREAMS
    await eventually(lambda: not list_engine_threads())
    await eventually(lambda: stand.pool.get_idle_size() == stand.pool.get_size())
    await eventually(lambda: len(asyncio.all_tasks()) <= tasks)
    gc.collect()
    assert troubles == []
    print("the loop kept others waiting for", statistics.median(waits), "at the median")


async def measure_pings(streams: Sequence[asyncio.Future[list[AskEvent]]]) -> list[float]:
    """How long the loop keeps others waiting while the streams run."""
    waits = []
    while not all(stream.done() for stream in streams):
        began = time.monotonic()
        await asyncio.sleep(0.005)
        waits.append(time.monotonic() - began - 0.005)
    return waits


def list_engine_threads() -> list[str]:
    names = [each.name for each in threading.enumerate()]
    return [name for name in names if "write_response" in name]


async def test_an_answer_that_is_left_is_not_remembered(stand: Stand) -> None:
    def leave() -> None:
        events = query_rag_stream(stand.bridged, QUESTION)
        next(events)
        events.close()  # type: ignore[attr-defined]

    await anyio.to_thread.run_sync(leave)
    assert await stand.chats.of(OLGA.name) == ()


async def test_a_failing_step_is_raised_to_whoever_asked(stand: Stand) -> None:
    class Broken(BridgedSteps):
        def choose_answerer(self, question: Question) -> object:  # type: ignore[override]
            raise RuntimeError("no answerer")

    steps = Broken(stand.steps, lambda: stand.bridge)
    with pytest.raises(RuntimeError, match="no answerer"):
        await anyio.to_thread.run_sync(lambda: list(query_rag_stream(steps, QUESTION)))
    assert await stand.chats.of(OLGA.name) == ()


class ForgetfulSteps(BridgedSteps):
    """Steps that lose the database when they store an answer."""

    def remember(self, *_: object) -> str:
        raise ConnectionResetError("the database is away")


async def test_an_answer_that_could_not_be_stored_is_not_done(stand: Stand) -> None:
    events: list[AskEvent] = []
    steps = ForgetfulSteps(stand.steps, lambda: stand.bridge)

    def read() -> None:
        for event in query_rag_stream(steps, QUESTION):
            events.append(event)  # noqa: PERF402 - those before the failure count, too

    with pytest.raises(ConnectionResetError, match="away"):
        await anyio.to_thread.run_sync(read)
    assert isinstance(events[-1], TokenEvent)
    with pytest.raises(ConnectionResetError, match="away"):
        await anyio.to_thread.run_sync(lambda: query_rag(steps, QUESTION))


async def test_an_answer_that_nobody_came_to_store_is_not_done(stand: Stand) -> None:
    with pytest.raises(NotStored):
        AnswerState(stand.bridged, QUESTION, HeldCall(0.0)).check()


# Over HTTP, as the other pipelines are tested


async def test_over_http_a_stream_has_sources_tokens_and_an_end() -> None:
    async with over_http.open_ask(ask_pipeline="llamaindex") as api:
        answer = await api.post("/query/stream", USER, {"query": "razoring?"})
        metrics = (await api.get("/metrics")).text
    names = [name for name, _ in over_http.events_of(answer)]
    assert (names[0], set(names[1:-1]), names[-1]) == ("sources", {"token"}, "done")
    assert "rookery_bridge_calls_total 4.0" in metrics


async def test_over_http_a_model_answers_with_citations_that_exist() -> None:
    await over_http.test_a_model_answers_with_citations_that_exist("llamaindex")


@pytest.mark.parametrize(
    ("manner", "says"),
    [
        ("breaks", "stopped before the end"),
        ("garbage", "can't be read"),
        ("hangs", "takes too long"),
    ],
)
async def test_over_http_a_model_that_fails_is_an_error_event(manner: str, says: str) -> None:
    await over_http.test_a_model_that_fails_is_an_error_event_and_nothing_is_remembered(
        manner, says, "llamaindex"
    )


async def test_over_http_who_leaves_in_the_middle_frees_everything() -> None:
    await over_http.test_who_leaves_in_the_middle_frees_everything("llamaindex")
