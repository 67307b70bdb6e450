"""Ask as plain blocking code: `query_rag` and `query_rag_stream`, for threads.

Everything on the loop (sessions, store, retriever) is reached over the bridge, never by another
loop, because connections belong to the loop that opened them. The bridge refuses calls from the
loop's own thread at once. Waiting for a model happens here, in the thread.

`ROOKERY_ASK_PIPELINE` chooses: `direct` (ask/chat.py), `threaded` (this module) or `llamaindex`,
whose module has a `query_rag_stream` of the same shape.
"""

import importlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from functools import partial, reduce

from rookery.core.boundary.bridge import Bridge
from rookery.core.boundary.errors import BridgeClosed
from rookery.core.boundary.offload import Threads, stream
from rookery.core.errors import Complaint
from rookery.core.http_client import HeldCall
from rookery.core.protocol.ask import AskAnswer, AskEvent, DoneEvent, SourceList, TokenEvent
from rookery.server.ask.chat import (
    AskSteps,
    Chosen,
    DirectPipeline,
    Pipeline,
    Question,
    Recalled,
    make_grounds,
    write_checked,
)
from rookery.server.ask.passages import FoundPassage

BRIDGE_SECONDS = 15.0
"""The time limit of a call over the bridge; it is longer than the database's own limits, so that
those apply first."""


class BridgedSteps:
    """`AskSteps` for threads: each call awaits its coroutine on the loop, within a time limit."""

    def __init__(self, steps: AskSteps, bridge: Callable[[], Bridge | None]) -> None:
        self._steps = steps
        self._find_bridge = bridge

    def recall(self, question: Question) -> Recalled:
        return self._bridge.call(self._steps.recall, question, seconds=BRIDGE_SECONDS)

    def search(self, question: Question, recalled: Recalled) -> tuple[FoundPassage, ...]:
        return self._bridge.call(self._steps.search, question, recalled, seconds=BRIDGE_SECONDS)

    def choose_answerer(self, question: Question) -> Chosen:
        return self._bridge.call(self._steps.choose_answerer, question, seconds=BRIDGE_SECONDS)

    def remember(
        self,
        question: Question,
        recalled: Recalled,
        answer: str,
        passages: tuple[FoundPassage, ...],
    ) -> str:
        return self._bridge.call(
            self._steps.remember, question, recalled, answer, passages, seconds=BRIDGE_SECONDS
        )

    def clear(self, question: Question) -> None:
        self._bridge.call(self._steps.clear, question, seconds=BRIDGE_SECONDS)

    @property
    def on_loop(self) -> AskSteps:
        """The same steps as coroutines, for code on the loop itself; refuses any other loop."""
        self._bridge.require_own_loop()
        return self._steps

    @property
    def _bridge(self) -> Bridge:
        bridge = self._find_bridge()
        if bridge is None:
            raise BridgeClosed
        return bridge


def query_rag_stream(
    steps: BridgedSteps, question: Question, held: HeldCall | None = None
) -> Iterator[AskEvent]:
    """Yield sources, pieces of the answer, and the end; blocks in between. If it is closed early,
    nothing is stored."""
    recalled = steps.recall(question)
    passages = steps.search(question, recalled)
    yield SourceList(sources=passages)
    chosen = steps.choose_answerer(question)
    grounds = make_grounds(question, recalled, passages, chosen)
    said: list[str] = []
    for piece in write_checked(chosen.answerer, grounds, held or HeldCall(0.0)):
        said.append(piece)
        yield TokenEvent(text=piece)
    session = steps.remember(question, recalled, "".join(said), passages)
    yield DoneEvent(session_id=session)


def query_rag(steps: BridgedSteps, question: Question, held: HeldCall | None = None) -> AskAnswer:
    """Return the complete answer; blocks."""
    return reduce(AskAnswer.with_event, query_rag_stream(steps, question, held), AskAnswer())


# The choice of a pipeline.

SyncPipeline = Callable[[BridgedSteps, Question, HeldCall], Iterator[AskEvent]]


class ThreadedPipeline:
    """Runs a blocking pipeline in threads of the `io` limiter, one event at a time."""

    def __init__(self, run: SyncPipeline, steps: BridgedSteps, threads: Threads) -> None:
        self._run = run
        self._steps = steps
        self._threads = threads

    async def __call__(self, question: Question, held: HeldCall) -> AsyncGenerator[AskEvent, None]:
        source = partial(self._run, self._steps, question, held)
        async with aclosing(stream(source, self._threads)) as events:
            async for event in events:
                yield event


def choose_pipeline(
    name: str, steps: AskSteps, threads: Threads, bridge: Callable[[], Bridge | None]
) -> Pipeline:
    """Return the pipeline of that name. It imports LlamaIndex if chosen, which blocks; raise
    Complaint if it is not installed."""
    if name == "direct":
        return DirectPipeline(steps, threads)
    run = query_rag_stream if name == "threaded" else load_llamaindex()
    return ThreadedPipeline(run, BridgedSteps(steps, bridge), threads)


def load_llamaindex() -> SyncPipeline:
    """Import the pipeline on LlamaIndex's chat engine, which only some sites have installed."""
    try:
        module = importlib.import_module("rookery.llamaindex.pipeline")
    except ModuleNotFoundError as missing:
        raise Complaint(
            "ROOKERY_ASK_PIPELINE=llamaindex needs packages that are not installed here"
            f" ({missing.name} is missing): pip install 'rookery[llamaindex]'."
        ) from missing
    run: SyncPipeline = module.query_rag_stream
    return run
