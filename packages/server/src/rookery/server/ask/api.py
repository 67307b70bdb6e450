"""Questions over the history of tests: whole answers, streams, or the most similar tests."""

from starlette.requests import Request

from rookery.core.boundary.errors import GateFull
from rookery.core.protocol import v1
from rookery.core.protocol.ask import AskAnswer, AskQuery, SourceList
from rookery.server.ask.answers import MEDIA_TYPE, AnswerStream, AskAnswers, clean_question
from rookery.server.ask.ask import Ask
from rookery.server.http.endpoint import LOOP, STREAM, THREAD, UNSEEN, Endpoints
from rookery.server.http.faults import AskBusy
from rookery.server.http.scope import ASK_ROOT, RequestInfo
from rookery.server.identity.bearers import Caller, name_of_caller
from rookery.server.identity.users import Scope

QUERY_BYTES = 16 * 1024
LEAST_TITLE = 3
LONGEST_TITLE = 300

api = Endpoints(ASK_ROOT, "")
only_here = Endpoints(ASK_ROOT)


@api(
    "POST /query",
    THREAD,
    "awaits a search and two writes; the answer is written in a thread",
    scope=Scope.READ,
    headers=UNSEEN,
    most_bytes=QUERY_BYTES,
)
async def query(
    answers: AskAnswers,
    caller: Caller | None,
    wish: AskQuery,
    info: RequestInfo,
    request: Request,
) -> AskAnswer:
    """Ask a question over the history of tests."""
    question = answers.accept(wish, name_of_caller(caller), info.client)
    return await answers.answer(question, info.client, request.receive)


@api(
    "POST /query/stream",
    STREAM,
    "waits for the answer's task, which is written in a thread",
    scope=Scope.READ,
    media=MEDIA_TYPE,
    most_bytes=QUERY_BYTES,
)
async def query_stream(
    answers: AskAnswers, caller: Caller | None, wish: AskQuery, info: RequestInfo
) -> AnswerStream:
    """Ask, and read the answer as it is written, as server-sent events (sources, token, done,
    error)."""
    return answers.stream(answers.accept(wish, name_of_caller(caller), info.client))


@only_here("GET /similar", LOOP, "awaits one search", scope=Scope.READ, headers=UNSEEN)
async def find_similar(
    ask: Ask, answers: AskAnswers, caller: Caller | None, title: str = "", engine: v1.Name = ""
) -> SourceList:
    """The runs and commits most similar to a title."""
    words = clean_question(title[:LONGEST_TITLE])
    if len(words) < LEAST_TITLE:
        return SourceList(sources=())
    asker = answers.make_asker(name_of_caller(caller))
    try:
        with ask.similar_gate.enter():
            found = await ask.steps.find_similar(words, asker, engine)
    except GateFull:
        raise AskBusy from None
    return SourceList(sources=found)
