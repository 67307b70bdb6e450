"""Questions over the history of tests: whole answers, streams, or the most similar tests."""

from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.boundary.errors import GateFull
from rookery.core.protocol import v1
from rookery.core.protocol.ask import AskAnswer, AskQuery, SourceList
from rookery.core.protocol.codec import Reader
from rookery.server.ask.answers import MEDIA_TYPE, AskAnswers, make_asker
from rookery.server.ask.chat import Question
from rookery.server.ask.passages import Asker
from rookery.server.ask.words import drop_control_characters
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer, read_body
from rookery.server.http.callers import find_bearer, translated_errors
from rookery.server.http.faults import AskBusy, BadRequest, Forbidden, TooManyRequests, Unauthorized
from rookery.server.http.openapi import Operation, described
from rookery.server.http.queries import read_name
from rookery.server.http.scope import request_info_of
from rookery.server.people.login import Throttled, origin_of
from rookery.server.people.users import Scope

QUERY = Reader(AskQuery, most_bytes=16 * 1024)
UNSEEN = {"cache-control": "no-store"}
LEAST_TITLE = 3
LONGEST_TITLE = 300
TOO_MANY = "Too many questions without an account came from your address; log in, or wait a little."


@described(Operation("Ask a question over the history of tests", {200: AskAnswer}, body=AskQuery))
@runs(Domain.THREAD, "awaits a search and two writes; the answer is written in a thread")
async def query(request: Request) -> Response:
    question = await read_question(request)
    answers, client = ask_answers_of(request), request_info_of(request.scope).client
    answer = await answers.answer(question, client, request.receive)
    return json_answer(answer, headers=UNSEEN)


@described(
    Operation(
        "Ask, and read the answer as it is written, as server-sent events (sources, token, done,"
        " error)",
        {200: MEDIA_TYPE},
        body=AskQuery,
    )
)
@runs(Domain.STREAM, "waits for the answer's task, which is written in a thread")
async def query_stream(request: Request) -> Response:
    return ask_answers_of(request).stream(await read_question(request))


@described(
    Operation(
        "The runs and commits most similar to a title",
        {200: SourceList},
        query={"title": v1.Name, "engine": v1.Name},
    )
)
@runs(Domain.LOOP, "awaits one search")
async def find_similar(request: Request) -> Response:
    site, asker = site_of(request), await find_asker(request)
    with translated_errors():
        engine = read_name(request.query_params, "engine")
    title = clean_question(request.query_params.get("title", "")[:LONGEST_TITLE])
    if len(title) < LEAST_TITLE:
        return json_answer(SourceList(sources=()), headers=UNSEEN)
    try:
        with site.ask.similar_gate.enter():
            found = await site.ask.steps.find_similar(title, asker, engine)
    except GateFull:
        raise AskBusy from None
    return json_answer(SourceList(sources=found), headers=UNSEEN)


async def read_question(request: Request) -> Question:
    """The question in a request's body, with its caller. Raises HttpFault."""
    asker = await find_asker(request)
    body = await read_body(request.receive)
    with translated_errors():
        wish = QUERY.read(body)
    if wish.session_id and not asker.name:
        raise Unauthorized
    text = clean_question(wish.query)
    if not text:
        raise BadRequest("query: the question has no words")
    charge_visitor(request, asker)
    return Question(
        text=text,
        asker=asker,
        wanted=wish.filters,
        session=wish.session_id,
        temporary=wish.temporary,
    )


async def find_asker(request: Request) -> Asker:
    """The caller: by session, by a token that may read, or a visitor."""
    site = site_of(request)
    bearer = await find_bearer(request, site.bearers)
    if bearer is not None and Scope.READ not in bearer.scopes:
        raise Forbidden("This token's scopes don't allow this; it takes a token for read.")
    return make_asker(site, bearer.user.name if bearer else "")


def charge_visitor(request: Request, asker: Asker) -> None:
    """Raise TooManyRequests if an address has asked too much without an account."""
    if asker.name:
        return
    site, client = site_of(request), request_info_of(request.scope).client
    try:
        site.ask.visitors.charge(origin_of(client), site.clock.seconds())
    except Throttled:
        raise TooManyRequests(TOO_MANY) from None


def clean_question(text: str) -> str:
    """The question in one line, without control characters."""
    return " ".join(drop_control_characters(text).split())


def ask_answers_of(request: Request) -> AskAnswers:
    return cast("AskAnswers", request.app.state.ask_answers)


def ask_routes(root: str) -> list[BaseRoute]:
    """Ask's routes below a root."""
    return [
        Route(f"{root}/query", query, methods=["POST"]),
        Route(f"{root}/query/stream", query_stream, methods=["POST"]),
    ]
