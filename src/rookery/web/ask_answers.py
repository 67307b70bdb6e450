"""Answers of Ask on their way to whoever asked: whole, or as server-sent events.

    gate --> first event --> head of the answer --> events, heartbeats --> done or error
      |          |                                        |
     503    404, 502, ...                        the reader leaves: the call to the model is
                                                 left, the task cancelled, the place free

A task of its own makes the answer, so that a heartbeat need not interrupt it.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rookery.ask.answering.grounds import AnswerFailed
from rookery.ask.chat import Question, RunningAnswer
from rookery.ask.passages import Asker
from rookery.ask.sessions import TooManySessions, UnknownSession
from rookery.boundary.errors import BridgeError, GateFull
from rookery.protocol.ask import AskAnswer, AskEvent, DoneEvent, ErrorEvent, SourceList, TokenEvent
from rookery.web.bodies import Places, StreamedAnswer, Streams, cancel_on_leave, encode_event
from rookery.web.faults import AskBusy, Conflict, HttpFault, ModelFailed, NotFound, Unavailable
from rookery.web.scope import request_info_of
from rookery.web.site import Site

BEAT_SECONDS = 15.0
END_SECONDS = 2.0
"""How long a task that was told to end is waited for."""
READING_SECONDS = 60.0
"""How much longer than its answer a reader may take."""
READ_AHEAD = 64
ADDRESS_DIVISOR = 2
"""One address may hold one in so many places."""
MEDIA_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
COMMENT = b":\n\n"
FAREWELL = b'event: error\ndata: {"error":"The server is stopping."}\n\n'
Fifo = asyncio.Queue[AskEvent | Exception | None]
NAMES: dict[type, str] = {SourceList: "sources", TokenEvent: "token", DoneEvent: "done"}


@contextmanager
def translated_ask_errors() -> Iterator[None]:
    """Errors of Ask as the faults that clients read."""
    try:
        yield
    except UnknownSession as fault:
        raise NotFound(str(fault)) from None
    except TooManySessions as fault:
        raise Conflict(str(fault)) from None
    except AnswerFailed as fault:
        raise ModelFailed(str(fault)) from None
    except BridgeError:
        raise Unavailable from None


def make_asker(site: Site, name: str) -> Asker:
    """Who asks, by their name; empty for a visitor."""
    return Asker(name=name, hidden=site.privacy.hidden_in_answers(name or None))


class AskAnswers:
    """Takes questions for a site and gives their answers out; one per app."""

    def __init__(self, site: Site, *, beat_seconds: float = BEAT_SECONDS) -> None:
        self._ask = site.ask
        self._streams = site.streams
        self._places = Places(site.ask.gate, ADDRESS_DIVISOR)
        self._beat_seconds = beat_seconds
        self._whole_seconds = site.settings.ask_answer_seconds + READING_SECONDS

    @contextmanager
    def enter(self, client: str) -> Iterator[None]:
        """A place for one answer; raises AskBusy, or TooManyStreams for one address."""
        try:
            with self._places.enter(client):
                yield
        except GateFull:
            raise AskBusy from None

    async def answer(self, question: Question, client: str, receive: Receive) -> AskAnswer:
        """The whole answer; given up when the client leaves."""
        answer = AskAnswer()
        with self.enter(client), self._streams.join() as until_told:
            leaving = asyncio.ensure_future(cancel_on_leave(receive, until_told))
            try:
                with translated_ask_errors():
                    async with aclosing(self.follow(question)) as events:
                        async for event in events:
                            answer = answer.with_event(event) if event else answer
            finally:
                leaving.cancel()
        if until_told.cancel_called:
            raise Unavailable
        return answer

    def stream(self, question: Question) -> "AnswerStream":
        """An answer as it is made."""
        return AnswerStream(self, question)

    async def follow(self, question: Question) -> AsyncGenerator[AskEvent | None, None]:
        """The events of an answer; None where nothing has come for a while."""
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
        """Holds a place for as long as the answer lasts. What goes wrong before the first event is
        a refusal with a status of its own."""
        with self.enter(request_info_of(scope).client), anyio.move_on_after(self._whole_seconds):
            async with aclosing(self.follow(question)) as events:
                with translated_ask_errors():
                    first = await anext(events)
                answer = make_streamed(first, events, self._streams)
                await answer(scope, receive, send)


class AnswerStream(Response):
    """An answer that begins once there is a place for it."""

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
        with translated_ask_errors():
            async for event in rest:
                yield _encode(event)
    except HttpFault as fault:
        yield encode_event("error", ErrorEvent(error=str(fault)))


def _encode(event: AskEvent | None) -> bytes:
    return COMMENT if event is None else encode_event(NAMES[type(event)], event)


async def _fill(running: RunningAnswer, queue: Fifo) -> None:
    """Makes the answer; who reads it decides how far it may be ahead."""
    end: Exception | None = None
    try:
        async with aclosing(running.events) as events:
            async for event in events:
                await queue.put(event)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the reader's
        end = error
    await queue.put(end)
