"""Sends the answers of Ask: whole, or as server-sent events.

    gate --> first event --> head of the answer --> events, heartbeats --> done or error
      |          |                                        |
     503    404, 502, ...                        the reader leaves: the call to the model
                                                 and the task are cancelled, the place is free

A separate task makes the answer, so that a heartbeat need not interrupt it.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rookery.core.boundary.errors import GateFull
from rookery.core.protocol.ask import (
    AskAnswer,
    AskEvent,
    AskQuery,
    DoneEvent,
    ErrorEvent,
    SourceList,
    TokenEvent,
)
from rookery.server.ask.chat import Question, RunningAnswer
from rookery.server.ask.passages import Asker
from rookery.server.ask.words import drop_control_characters
from rookery.server.http.bodies import (
    Places,
    StreamedAnswer,
    Streams,
    cancel_on_leave,
    encode_event,
)
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import (
    AskBusy,
    BadRequest,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from rookery.server.http.scope import request_info_of
from rookery.server.identity.login import Throttled, origin_of

if TYPE_CHECKING:
    from rookery.server.app.site import Site

BEAT_SECONDS = 15.0
END_SECONDS = 2.0
"""How long to wait for a task that was told to end."""
READING_SECONDS = 60.0
"""The time a reader has to take an answer, in addition to the time for making it."""
READ_AHEAD = 64
ADDRESS_DIVISOR = 2
"""One address may hold at most this fraction of the places: one in two."""
MEDIA_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
COMMENT = b":\n\n"
TOO_MANY = "Too many questions without an account came from your address; log in, or wait a little."
FAREWELL = b'event: error\ndata: {"error":"The server is stopping."}\n\n'
Fifo = asyncio.Queue[AskEvent | Exception | None]
NAMES: dict[type, str] = {SourceList: "sources", TokenEvent: "token", DoneEvent: "done"}


def clean_question(text: str) -> str:
    """Return the question in one line, without control characters."""
    return " ".join(drop_control_characters(text).split())


class AskAnswers:
    """Takes the questions to a site and sends the answers. There is one per app."""

    def __init__(self, site: "Site", *, beat_seconds: float = BEAT_SECONDS) -> None:
        self._ask = site.ask
        self._privacy = site.privacy
        self._clock = site.clock
        self._streams = site.streams
        self._places = Places(site.ask.gate, ADDRESS_DIVISOR)
        self._beat_seconds = beat_seconds
        self._whole_seconds = site.settings.ask_answer_seconds + READING_SECONDS

    def make_asker(self, name: str | None) -> Asker:
        """Return the asker of that name; no name stands for a visitor."""
        return Asker(name=name or "", hidden=self._privacy.hidden_in_answers(name or None))

    def accept(self, wish: AskQuery, name: str | None, client: str) -> Question:
        """Return the question that somebody asks, counted if they have no account. Raise
        HttpFault."""
        if wish.session_id and not name:
            raise Unauthorized
        text = clean_question(wish.query)
        if not text:
            raise BadRequest("query: the question has no words")
        self.charge_visitor(name, client)
        return Question(
            text=text,
            asker=self.make_asker(name),
            wanted=wish.filters,
            session=wish.session_id,
            temporary=wish.temporary,
        )

    def charge_visitor(self, name: str | None, client: str) -> None:
        """Raise TooManyRequests if an address has asked too much without an account."""
        if name:
            return
        try:
            self._ask.visitors.charge(origin_of(client), self._clock.seconds())
        except Throttled:
            raise TooManyRequests(TOO_MANY) from None

    @contextmanager
    def enter(self, client: str) -> Iterator[None]:
        """Hold a place for one answer. Raises AskBusy, or TooManyStreams for one address."""
        try:
            with self._places.enter(client):
                yield
        except GateFull:
            raise AskBusy from None

    async def answer(self, question: Question, client: str, receive: Receive) -> AskAnswer:
        """Return the whole answer. It is given up when the client leaves."""
        answer = AskAnswer()
        with self.enter(client), self._streams.join() as until_told:
            leaving = asyncio.ensure_future(cancel_on_leave(receive, until_told))
            try:
                async with aclosing(self.follow(question)) as events:
                    async for event in events:
                        answer = answer.with_event(event) if event else answer
            finally:
                leaving.cancel()
        if until_told.cancel_called:
            raise Unavailable
        return answer

    def stream(self, question: Question) -> "AnswerStream":
        """Return an answer as it is made."""
        return AnswerStream(self, question)

    async def follow(self, question: Question) -> AsyncGenerator[AskEvent | None, None]:
        """Yield the events of an answer. None stands for a heartbeat, when no event has come for a
        while."""
        running = self._ask.begin(question)
        queue: Fifo = asyncio.Queue(READ_AHEAD)
        task = asyncio.create_task(_fill(running, queue), name="ask answer")
        try:
            while True:
                try:
                    async with asyncio.timeout(self._beat_seconds):
                        event = await queue.get()
                except TimeoutError:
                    yield None
                    continue
                if event is None:
                    return
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            running.leave()
            task.cancel()
            with anyio.move_on_after(END_SECONDS, shield=True):
                await asyncio.wait([task])

    async def send(self, question: Question, scope: Scope, receive: Receive, send: Send) -> None:
        """Send an answer, and hold a place while it lasts. An error before the first event becomes
        a refusal with its own status."""
        with self.enter(request_info_of(scope).client), anyio.move_on_after(self._whole_seconds):
            async with aclosing(self.follow(question)) as events:
                first = await anext(events)
                answer = make_streamed(first, events, self._streams)
                await answer(scope, receive, send)


class AnswerStream(Response):
    """A streamed answer that begins once there is a place for it."""

    def __init__(self, answers: AskAnswers, question: Question) -> None:
        super().__init__(media_type=MEDIA_TYPE)
        self._answers = answers
        self._question = question

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answers.send(self._question, scope, receive, send)


def make_streamed(
    first: AskEvent | None, rest: AsyncIterator[AskEvent | None], streams: Streams
) -> StreamedAnswer:
    return StreamedAnswer(
        _encode_events(first, rest),
        streams,
        media_type=MEDIA_TYPE,
        headers=HEADERS,
        last_words=FAREWELL,
    )


async def _encode_events(
    first: AskEvent | None, rest: AsyncIterator[AskEvent | None]
) -> AsyncIterator[bytes]:
    yield _encode(first)
    try:
        async for event in rest:
            yield _encode(event)
    except REFUSALS as refused:
        yield encode_event("error", ErrorEvent(error=text_of(refused)))


def _encode(event: AskEvent | None) -> bytes:
    return COMMENT if event is None else encode_event(NAMES[type(event)], event)


async def _fill(running: RunningAnswer, queue: Fifo) -> None:
    """Make the answer and put its events into the queue, whose size limits how far it runs ahead of
    the reader."""
    end: Exception | None = None
    try:
        async with aclosing(running.events) as events:
            async for event in events:
                await queue.put(event)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the reader's
        end = error
    await queue.put(end)
