"""Ask on LlamaIndex: its chat engine with our conversations, our retriever and our answerers.

Needs the extra `llamaindex`; it is imported only if ROOKERY_ASK_PIPELINE selects it. This is
blocking code for threads, like `ask/pipeline.py`: the database is reached only over the bridge,
from any thread that LlamaIndex uses. The adapters' async methods are for the event loop itself, and
refuse any other loop.

    query_rag_stream (a thread of `io`)      CondensePlusContextChatEngine.stream_chat
      store.get_messages  --bridge--> recall
      retriever.retrieve  --bridge--> search
    the engine's own thread
      llm.stream_complete --bridge--> who answers, then its pieces --> queue --> our thread
      store.add_message   --bridge--> remember

A failed or abandoned answer is marked in `AnswerState`, so that it is not stored: the engine's
thread may have finished an answer of which nobody has read a word. An answer that could not be
stored is marked there, too: it ends with that error.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import Empty
from threading import Event
from typing import Any

from llama_index.core import PromptHelper, Settings, set_global_tokenizer
from llama_index.core.base.llms.types import (
    ChatMessage,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.chat_engine.types import StreamingAgentChatResponse
from llama_index.core.llms import CustomLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.chat_store import BaseChatStore

from rookery.core.http_client import HeldCall
from rookery.core.protocol import ask
from rookery.core.protocol.ask import AskEvent, DoneEvent, SourceList, TokenEvent
from rookery.server.ask.chat import Question, Recalled, make_grounds, write_checked
from rookery.server.ask.passages import FoundPassage
from rookery.server.ask.pipeline import BridgedSteps

CONTEXT_TOKENS = 10**9
"""The context size that the engine is told: our answerers have their own limits, and the engine
must not split their input."""
NOTHING = "nothing"
"""The id of a placeholder node for no passages, because the engine asks no LLM about an empty
list."""
LOOK_AGAIN_SECONDS = 0.02
LEAVE_SECONDS = 20.0
"""How long to wait for the engine's thread; more than the bridge's limit, which bounds storing an
answer."""
READ_SECONDS = 900.0


class NotStored(Exception):
    """The answer could not be stored in time."""

    def __str__(self) -> str:
        return "The answer could not be stored in time."


class AnswerState:
    """The state that the adapters of one answer share. Each field is written by one thread at a
    time."""

    def __init__(self, steps: BridgedSteps, question: Question, held: HeldCall) -> None:
        self.steps = steps
        self.question = question
        self.held = held
        self.recalled = Recalled()
        self.passages: tuple[FoundPassage, ...] = ()
        self.failure: Exception | None = None
        self.written = Event()
        """Set when the last piece is in the engine's queue."""
        self.read = Event()
        """Set when the reader has read the last piece, or has left."""
        self.left = False
        self.session = ""
        self.is_stored = False

    def await_reader(self) -> bool:
        """Wait, in the engine's thread, for the reader, who may be far behind; return whether the
        answer was completed and read to its end."""
        return self.read.wait(READ_SECONDS) and self.failure is None and not self.left

    @contextmanager
    def storing(self) -> Iterator[None]:
        """Note whether the block has stored the answer. A failure is kept for whoever reads the
        answer, because the engine's thread would print it."""
        try:
            yield
        except Exception as failure:  # noqa: BLE001 - whoever reads the answer raises it
            self.failure = failure
        else:
            self.is_stored = True

    def check(self) -> None:
        """Raise what has failed; NotStored if the answer was not stored without a reason."""
        if self.failure is not None:
            raise self.failure
        if not self.is_stored:
            raise NotStored


class PostgresChatStore(BaseChatStore):
    """LlamaIndex's chat store for a conversation in PostgreSQL. A question is stored together with
    its complete answer."""

    _state: AnswerState = PrivateAttr()

    def __init__(self, state: AnswerState) -> None:
        super().__init__()
        self._state = state

    @classmethod
    def class_name(cls) -> str:
        return "PostgresChatStore"

    def get_messages(self, key: str) -> list[ChatMessage]:
        state = self._state
        state.recalled = state.steps.recall(state.question)
        return _list_messages(state.recalled)

    async def aget_messages(self, key: str) -> list[ChatMessage]:
        state = self._state
        state.recalled = await state.steps.on_loop.recall(state.question)
        return _list_messages(state.recalled)

    def add_message(self, key: str, message: ChatMessage) -> None:
        state = self._state
        if message.role == MessageRole.ASSISTANT and state.await_reader():
            text = message.content or ""
            with state.storing():
                state.session = state.steps.remember(
                    state.question, state.recalled, text, state.passages
                )

    async def async_add_message(self, key: str, message: ChatMessage) -> None:
        state = self._state
        if message.role == MessageRole.ASSISTANT and state.failure is None and not state.left:
            text = message.content or ""
            with state.storing():
                state.session = await state.steps.on_loop.remember(
                    state.question, state.recalled, text, state.passages
                )

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        gone = self.get_messages(key)
        self._state.steps.clear(self._state.question)
        return gone

    async def adelete_messages(self, key: str) -> list[ChatMessage] | None:
        gone = await self.aget_messages(key)
        await self._state.steps.on_loop.clear(self._state.question)
        return gone

    def set_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        """Can only empty a conversation; messages are never rewritten."""
        _refuse_rewriting(messages)
        self.delete_messages(key)

    async def aset_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        _refuse_rewriting(messages)
        await self.adelete_messages(key)

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        raise NotImplementedError(NO_REWRITING)

    async def adelete_message(self, key: str, idx: int) -> ChatMessage | None:
        raise NotImplementedError(NO_REWRITING)

    def delete_last_message(self, key: str) -> ChatMessage | None:
        raise NotImplementedError(NO_REWRITING)

    async def adelete_last_message(self, key: str) -> ChatMessage | None:
        raise NotImplementedError(NO_REWRITING)

    def get_keys(self) -> list[str]:
        return [self._state.question.session] if self._state.question.session else []

    async def aget_keys(self) -> list[str]:
        return self.get_keys()


NO_REWRITING = "a conversation is added to or emptied as a whole, not rewritten"


def _refuse_rewriting(messages: Sequence[ChatMessage]) -> None:
    if messages:
        raise NotImplementedError(NO_REWRITING)


def _list_messages(recalled: Recalled) -> list[ChatMessage]:
    return [_convert_message(message) for message in recalled.messages]


def _convert_message(message: ask.ChatMessage) -> ChatMessage:
    return ChatMessage(role=MessageRole(message.role), content=message.text)


class BM25Retriever(BaseRetriever):
    """LlamaIndex's interface to the site's retriever; the passages it found last are in the
    state."""

    def __init__(self, state: AnswerState) -> None:
        super().__init__()
        self._state = state

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        state = self._state
        state.passages = state.steps.search(state.question, state.recalled)
        return _list_nodes(state.passages)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Retrieve; the argument must have this name, because LlamaIndex passes it by name."""
        state = self._state
        state.passages = await state.steps.on_loop.search(state.question, state.recalled)
        return _list_nodes(state.passages)


def _list_nodes(passages: Sequence[FoundPassage]) -> list[NodeWithScore]:
    found = [NodeWithScore(node=_make_node(each), score=each.score) for each in passages]
    return found or [NodeWithScore(node=TextNode(id_=NOTHING, text="nothing was found"), score=0.0)]


def _make_node(passage: FoundPassage) -> TextNode:
    metadata = {"title": passage.title, "url": passage.url, "kind": passage.kind.value}
    return TextNode(id_=passage.id, text=passage.text or passage.title, metadata=metadata)


class AnswererLLM(CustomLLM):
    """LlamaIndex's interface to the site's answerer (quotations, or a model behind HTTP).

    The engine's prompt is not used: our answerers get the question and the passages, treat these as
    untrusted text, and have their citations checked.
    """

    _state: AnswerState = PrivateAttr()

    def __init__(self, state: AnswerState) -> None:
        super().__init__()
        self._state = state

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=CONTEXT_TOKENS, num_output=1, model_name="rookery")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text="".join(self._write()))

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Iterator[CompletionResponse]:
        said = ""
        for piece in self._write():
            said += piece
            yield CompletionResponse(text=said, delta=piece)

    def _write(self) -> Iterator[str]:
        """Yield the pieces of the answer. On an error it ends instead of raising, because the
        engine's thread would print the exception."""
        state = self._state
        try:
            chosen = state.steps.choose_answerer(state.question)
            grounds = make_grounds(state.question, state.recalled, state.passages, chosen)
            for piece in write_checked(chosen.answerer, grounds, state.held):
                if state.left:
                    return
                yield piece
        except Exception as failure:  # noqa: BLE001 whoever reads the answer raises it
            state.failure = failure
        finally:
            state.written.set()


class WholePrompt(PromptHelper):
    """Passes all text on in one piece. LlamaIndex's own helper counts tokens first, for which it
    starts an event loop in the calling thread."""

    def repack(self, prompt: Any, text_chunks: Sequence[str], **more: Any) -> list[str]:
        return ["\n\n".join(text_chunks)]

    def truncate(self, prompt: Any, text_chunks: Sequence[str], **more: Any) -> list[str]:
        return list(text_chunks)


def prepare_library() -> None:
    """Set LlamaIndex's global settings, which nothing else of ours uses."""
    set_global_tokenizer(str.split)  # the default would load a vocabulary of a megabyte
    Settings.prompt_helper = WholePrompt()


def make_engine(state: AnswerState) -> CondensePlusContextChatEngine:
    """Return the chat engine of one answer. The retriever does the condensing: it adds words of the
    question that this one refers to, so that both pipelines find the same."""
    memory = ChatMemoryBuffer(
        token_limit=CONTEXT_TOKENS,
        tokenizer_fn=str.split,
        chat_store=PostgresChatStore(state),
        chat_store_key=state.question.session or "new",
    )
    return CondensePlusContextChatEngine(
        retriever=BM25Retriever(state), llm=AnswererLLM(state), memory=memory, skip_condense=True
    )


def query_rag_stream(
    steps: BridgedSteps, question: Question, held: HeldCall | None = None
) -> Iterator[AskEvent]:
    """Yield sources, pieces of the answer, and the end; blocks in between. If it is closed early,
    nothing is stored."""
    state = AnswerState(steps, question, held or HeldCall(0.0))
    response = make_engine(state).stream_chat(question.text)
    try:
        yield SourceList(sources=list_sources(response, state))
        for piece in read_pieces(response, state):
            yield TokenEvent(text=piece)
    except GeneratorExit:
        state.left = True
        state.held.leave()
        raise
    finally:
        state.read.set()
        response.write_response_to_history_thread.join(LEAVE_SECONDS)
    state.check()
    yield DoneEvent(session_id=state.session)


def query_rag(
    steps: BridgedSteps, question: Question, held: HeldCall | None = None
) -> ask.AskAnswer:
    """Return the complete answer; blocks."""
    state = AnswerState(steps, question, held or HeldCall(0.0))
    state.read.set()
    response = make_engine(state).chat(question.text)
    state.check()
    sources = list_sources(response, state)
    return ask.AskAnswer(answer=str(response), session_id=state.session, sources=sources)


def list_sources(response: Any, state: AnswerState) -> tuple[FoundPassage, ...]:
    """Return the passages behind the nodes that the engine used, in its order."""
    by_id = {passage.id: passage for passage in state.passages}
    return tuple(by_id[node.node_id] for node in response.source_nodes if node.node_id in by_id)


def read_pieces(response: StreamingAgentChatResponse, state: AnswerState) -> Iterator[str]:
    """Yield the pieces that the engine's thread puts into its queue. LlamaIndex's own
    `response_gen` polls without a pause, and so uses a processor for each waiting stream."""
    thread = response.write_response_to_history_thread
    while True:
        ended = state.written.is_set() or not thread.is_alive()
        try:
            piece = response.queue.get(timeout=0 if ended else LOOK_AGAIN_SECONDS)
        except Empty:
            if ended:
                return
        else:
            if piece:
                yield piece


prepare_library()
