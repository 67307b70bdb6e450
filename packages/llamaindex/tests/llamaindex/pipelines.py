"""Ask on a real database, with the pipelines side by side."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rookery.core.boundary.bridge import Bridge, open_bridge
from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.http_client import HeldCall
from rookery.core.protocol.ask import AskEvent, ChatMessage
from rookery.server.ask.answering.extractive import ExtractiveAnswerer
from rookery.server.ask.chat import AskSteps, Pipeline, Question
from rookery.server.ask.health import AskHealth
from rookery.server.ask.passage_index import PassageIndex
from rookery.server.ask.passages import Asker, Document, PassageKind
from rookery.server.ask.pipeline import BridgedSteps, choose_pipeline
from rookery.server.ask.retrieval import Bm25Retriever
from rookery.server.ask.sessions import ChatLimits, ChatRows, ChatSessions
from rookery.server.ask.thesaurus import read_lexicon
from rookery.server.db.pool import Pool, Queries, open_pool
from rookery.server.db.target import Target
from rookery.server.identity.users import Users
from tests import people
from tests.places import PROJECT

LEXICON = read_lexicon()
SHIPPED = PROJECT / "benchmarks" / "ask_questions.txt"
OLGA = Asker(name=people.OLGA.name)
TOPICS = ("razoring", "futility", "null move", "king safety", "time management", "hash table")


def read_questions() -> list[str]:
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    return [line.partition(" ")[2] for line in lines if line[:1].isalnum()]


QUESTIONS = read_questions()
"""The shipped questions."""


def make_documents(questions: Sequence[str]) -> Iterator[Document]:
    """Yield a corpus in which each question has many answers, some better than others."""
    words = [word for question in questions for word in question.split()]
    for number in range(300):
        part = words[number * 7 % len(words) :][: 5 + number % 9]
        yield Document(
            key=f"commit:{number}",
            kind=PassageKind.COMMIT,
            title=" ".join(part[:4]),
            body=f"{' '.join(part)}. About {TOPICS[number % len(TOPICS)]}.",
            url=f"/commits/{number}",
            commit=f"{number:040}",
        )


@dataclass(frozen=True)
class Stand:
    """Everything that an answer needs, and what the tests look at."""

    pool: Pool
    bridge: Bridge
    threads: Threads
    chats: ChatSessions
    steps: AskSteps

    def choose(self, name: str) -> Pipeline:
        return choose_pipeline(name, self.steps, self.threads, lambda: self.bridge)

    @property
    def bridged(self) -> BridgedSteps:
        return BridgedSteps(self.steps, lambda: self.bridge)

    async def ask(self, pipeline: Pipeline, question: Question) -> list[AskEvent]:
        return [event async for event in pipeline(question, HeldCall(0.0))]

    async def read_history(self, session: str) -> tuple[ChatMessage, ...]:
        return (await self.chats.history(session, OLGA))[1]


@asynccontextmanager
async def open_stand(target: Target, queries: Queries) -> AsyncIterator[Stand]:
    async with open_pool(target, instance="test", size=4) as pool, open_bridge() as bridge:
        clock, threads = SystemClock(), Threads()
        index = PassageIndex(pool, queries, LEXICON.stop_words, threads.cpu)
        documents = list(make_documents(QUESTIONS))
        for first in range(0, len(documents), 100):
            await index.put(documents[first : first + 100])
        await Users(pool, queries).add(people.OLGA)
        chats = ChatSessions(ChatRows(pool, queries), clock, ChatLimits(sessions=1_000))
        answerer = ExtractiveAnswerer(LEXICON.stop_words)
        retriever = Bm25Retriever(pool, queries, LEXICON.stop_words, LEXICON.thesaurus.widen)
        health = AskHealth(answerer.name)
        steps = AskSteps(retriever, chats, answerer, answerer, health, clock)
        yield Stand(pool, bridge, threads, chats, steps)
