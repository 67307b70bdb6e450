"""The steps of Ask: a question is condensed with its history, looked up, answered and stored.

    recall --> search --> sources --> choose who answers --> pieces --> remember --> done

`AskSteps` has the steps that use the database, as coroutines. The direct pipeline awaits them on
the loop; pipelines in threads (`ask/pipeline.py`) call them over the bridge. In both cases a failed
or abandoned answer is not stored.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import msgspec

from rookery.core.boundary.offload import Threads, stream
from rookery.core.clock import Clock
from rookery.core.http_client import HeldCall
from rookery.core.protocol.ask import (
    AskEvent,
    ChatMessage,
    ChatSession,
    DoneEvent,
    SourceList,
    TokenEvent,
)
from rookery.server.ask.answering.condensing import EARLIER_TERMS, find_referenced_question
from rookery.server.ask.answering.grounds import Answerer, Grounds, check_citations
from rookery.server.ask.health import AskHealth
from rookery.server.ask.passages import Asker, FoundPassage, PassageFilter, PassageKind, Retriever
from rookery.server.ask.sessions import ChatSessions

SOURCES = 10
SIMILAR = 6
HISTORY = 20
"""The number of messages of a conversation that are considered with a new question."""
CONNECTIONS = 3
"""Ask's share of the pool: at most so many of its calls run at once, the rest is the farm's."""
QUOTA_NOTE = (
    "Your questions to the language model are used up for today; this was found without it."
)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question; an empty `session` begins a conversation, except for visitors."""

    text: str
    asker: Asker
    wanted: PassageFilter = PassageFilter()
    session: str = ""
    temporary: bool = True


class Recalled(msgspec.Struct, frozen=True, kw_only=True):
    """The conversation that a question belongs to; none for a visitor."""

    session: ChatSession | None = None
    begin: bool = False
    """Whether the conversation is new, so that it is stored with its first messages."""
    messages: tuple[ChatMessage, ...] = ()


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The answerer for a question, and a note on why it is not the model."""

    answerer: Answerer
    note: str = ""


class AskSteps:
    """The steps of an answer that use the database, and the choice of the answerer. Used only on
    the event loop."""

    def __init__(
        self,
        retriever: Retriever,
        chats: ChatSessions,
        answerer: Answerer,
        without_model: Answerer,
        health: AskHealth,
        clock: Clock,
    ) -> None:
        self._retriever = retriever
        self._chats = chats
        self._answerer = answerer
        self._without_model = without_model
        self._health = health
        self._clock = clock
        self._share = asyncio.Semaphore(CONNECTIONS)

    async def recall(self, question: Question) -> Recalled:
        """Return the conversation of a question; raise UnknownSession."""
        user = question.asker.name
        if not user:
            return Recalled()
        if not question.session:
            draft = self._chats.draft(question.text, temporary=question.temporary)
            return Recalled(session=draft, begin=True)
        async with self._share:
            session, messages = await self._chats.history(question.session, question.asker, HISTORY)
        return Recalled(session=session, messages=messages)

    async def search(self, question: Question, recalled: Recalled) -> tuple[FoundPassage, ...]:
        """Return the best passages; if the question refers to an earlier one, that one's rare words
        count too."""
        earlier = find_referenced_question(question.text, recalled.messages)
        async with self._measured():
            terms = (
                await self._retriever.find_rare_terms(earlier, question.asker, limit=EARLIER_TERMS)
                if earlier
                else ()
            )
            return await self._retriever.search(
                question.text, question.asker, question.wanted, limit=SOURCES, extra_terms=terms
            )

    async def find_similar(
        self, title: str, asker: Asker, engine: str = ""
    ) -> tuple[FoundPassage, ...]:
        """Return the runs and commits most similar to what somebody is typing, without their
        text."""
        wanted = PassageFilter(engine=engine, kinds=(PassageKind.RUN, PassageKind.COMMIT))
        async with self._measured():
            found = await self._retriever.search(title, asker, wanted, limit=SIMILAR)
        return tuple(msgspec.structs.replace(each, text="") for each in found)

    async def choose_answerer(self, question: Question) -> Chosen:
        """Choose who answers. Visitors can't use the model, which may cost money; users have a
        daily quota."""
        user, answerer = question.asker.name, self._answerer
        if not answerer.asks_model:
            return Chosen(answerer=answerer)
        if not user:
            return Chosen(answerer=self._without_model)
        async with self._share:
            granted = await self._chats.take_model_question(user)
        if not granted:
            return Chosen(answerer=self._without_model, note=QUOTA_NOTE)
        self._health.note_model_call()
        return Chosen(answerer=answerer)

    async def remember(
        self,
        question: Question,
        recalled: Recalled,
        answer: str,
        passages: tuple[FoundPassage, ...],
    ) -> str:
        """Store question and answer in the conversation; return its id, or an empty text if nothing
        was stored."""
        session = recalled.session
        if session is None:
            return ""
        async with self._share:
            written = await self._chats.remember(
                session, question.asker.name, question.text, answer, passages, begin=recalled.begin
            )
        return session.id if written else ""

    async def clear(self, question: Question) -> None:
        """Remove the messages of the question's conversation; raise UnknownSession."""
        async with self._share:
            await self._chats.clear(question.session, question.asker.name)

    @asynccontextmanager
    async def _measured(self) -> AsyncIterator[None]:
        async with self._share:
            began = self._clock.seconds()
            yield
        self._health.note_search(self._clock.seconds() - began)


# Pipelines: the same steps, awaited on the loop or called from a thread.


@dataclass(slots=True)
class RunningAnswer:
    """A running answer. A reader that stops early must call `leave` first, so that no thread keeps
    waiting for a model."""

    events: AsyncGenerator[AskEvent, None]
    held: HeldCall

    def leave(self) -> None:
        self.held.leave()


Pipeline = Callable[[Question, HeldCall], AsyncGenerator[AskEvent, None]]


class DirectPipeline:
    """Runs the steps on the loop; only computing and waiting for a model are done in threads."""

    def __init__(self, steps: AskSteps, threads: Threads) -> None:
        self._steps = steps
        self._threads = threads

    async def __call__(self, question: Question, held: HeldCall) -> AsyncGenerator[AskEvent, None]:
        steps = self._steps
        recalled = await steps.recall(question)
        passages = await steps.search(question, recalled)
        yield SourceList(sources=passages)
        chosen = await steps.choose_answerer(question)
        said: list[str] = []
        async with aclosing(
            self._write(chosen.answerer, make_grounds(question, recalled, passages, chosen), held)
        ) as pieces:
            async for piece in pieces:
                said.append(piece)
                yield TokenEvent(text=piece)
        session = await steps.remember(question, recalled, "".join(said), passages)
        yield DoneEvent(session_id=session)

    async def _write(
        self, answerer: Answerer, grounds: Grounds, held: HeldCall
    ) -> AsyncGenerator[str, None]:
        write = partial(write_checked, answerer, grounds, held)
        if not answerer.asks_model:
            for piece in await self._threads.cpu(lambda: list(write())):
                yield piece
            return
        async with aclosing(stream(write, self._threads)) as pieces:
            async for piece in pieces:
                yield piece


def make_grounds(
    question: Question,
    recalled: Recalled,
    passages: tuple[FoundPassage, ...],
    chosen: Chosen,
) -> Grounds:
    return Grounds(
        question=question.text, passages=passages, history=recalled.messages, note=chosen.note
    )


def write_checked(answerer: Answerer, grounds: Grounds, held: HeldCall) -> Iterator[str]:
    """Return the pieces of an answer, with checked citations; blocks."""
    return check_citations(answerer.write(grounds, held), len(grounds.passages))
