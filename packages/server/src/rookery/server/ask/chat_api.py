"""Conversations with Ask. Users see only their own."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.protocol.ask import (
    ChatClear,
    ChatHistory,
    ChatSession,
    ChatSessionChange,
    ChatSessionList,
    NewChatSession,
    SessionId,
)
from rookery.core.protocol.codec import Reader, or_none
from rookery.server.ask.answers import make_asker, translated_ask_errors
from rookery.server.ask.passages import Asker
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer, read_body
from rookery.server.http.callers import require_bearer, translated_errors
from rookery.server.http.openapi import Operation, described
from rookery.server.http.queries import read_switch
from rookery.server.people.users import Scope

NEW = Reader(NewChatSession)
CHANGE = Reader(ChatSessionChange)
CLEAR = Reader(ChatClear)
UNSEEN = {"cache-control": "no-store"}
OF_SESSION = {"session": SessionId}


@described(
    Operation(
        "Your conversations, the last used first",
        {200: ChatSessionList},
        query={"archived": bool},
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_sessions(request: Request) -> Response:
    asker = await require_asker(request)
    with translated_errors():
        archived = read_switch(request.query_params, "archived")
    found = await site_of(request).ask.chats.of(asker.name, archived=archived)
    return json_answer(ChatSessionList(sessions=found), headers=UNSEEN)


@described(Operation("Begin a conversation", {201: ChatSession}, body=NewChatSession, bearer=True))
@runs(Domain.LOOP, "awaits one write")
async def create_session(request: Request) -> Response:
    asker = await require_asker(request)
    body = await read_body(request.receive)
    with translated_errors(), translated_ask_errors():
        wish = NEW.read(body or b"{}")
        made = await site_of(request).ask.chats.create(
            asker.name, wish.title, temporary=wish.temporary
        )
    return json_answer(made, 201, UNSEEN)


@described(
    Operation(
        "Rename, archive or unarchive a conversation",
        {200: ChatSession},
        body=ChatSessionChange,
        path=OF_SESSION,
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one write")
async def change_session(request: Request) -> Response:
    asker = await require_asker(request)
    body = await read_body(request.receive)
    with translated_errors(), translated_ask_errors():
        wish = CHANGE.read(body)
        changed = await site_of(request).ask.chats.change(
            session_in(request),
            asker.name,
            title=or_none(wish.title),
            archived=or_none(wish.archived),
        )
    return json_answer(changed, headers=UNSEEN)


@described(Operation("Delete a conversation", {200: ChatSession}, path=OF_SESSION, bearer=True))
@runs(Domain.LOOP, "awaits a query and a write")
async def delete_session(request: Request) -> Response:
    asker, chats = await require_asker(request), site_of(request).ask.chats
    with translated_ask_errors():
        found = await chats.get(session_in(request), asker.name)
        await chats.delete(found.id, asker.name)
    return json_answer(found, headers=UNSEEN)


@described(
    Operation("Mark a conversation as used", {200: ChatSession}, path=OF_SESSION, bearer=True)
)
@runs(Domain.LOOP, "awaits one write")
async def touch_session(request: Request) -> Response:
    asker = await require_asker(request)
    with translated_ask_errors():
        touched = await site_of(request).ask.chats.touch(session_in(request), asker.name)
    return json_answer(touched, headers=UNSEEN)


@described(
    Operation("A conversation with its messages", {200: ChatHistory}, path=OF_SESSION, bearer=True)
)
@runs(Domain.LOOP, "awaits two queries")
async def get_history(request: Request) -> Response:
    asker = await require_asker(request)
    with translated_ask_errors():
        session, messages = await site_of(request).ask.chats.history(session_in(request), asker)
    return json_answer(ChatHistory(session=session, messages=messages), headers=UNSEEN)


@described(
    Operation(
        "Remove the messages of a conversation", {200: ChatSession}, body=ChatClear, bearer=True
    )
)
@runs(Domain.LOOP, "awaits one write")
async def clear_history(request: Request) -> Response:
    asker = await require_asker(request)
    body = await read_body(request.receive)
    with translated_errors(), translated_ask_errors():
        wish = CLEAR.read(body)
        cleared = await site_of(request).ask.chats.clear(wish.session_id, asker.name)
    return json_answer(cleared, headers=UNSEEN)


async def require_asker(request: Request) -> Asker:
    """The caller's account. Raises Unauthorized or Forbidden."""
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.READ)
    return make_asker(site, bearer.user.name)


def session_in(request: Request) -> str:
    return str(request.path_params["session"])


def chat_routes(root: str) -> list[BaseRoute]:
    """The routes of conversations below a root."""
    one = f"{root}/chat/sessions/{{session}}"
    return [
        Route(f"{root}/chat/sessions", list_sessions, methods=["GET"]),
        Route(f"{root}/chat/sessions", create_session, methods=["POST"]),
        Route(one, change_session, methods=["PATCH"]),
        Route(one, delete_session, methods=["DELETE"]),
        Route(f"{one}/touch", touch_session, methods=["POST"]),
        Route(f"{root}/chat/history/{{session}}", get_history, methods=["GET"]),
        Route(f"{root}/chat/clear", clear_history, methods=["POST"]),
    ]
