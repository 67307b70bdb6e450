"""Conversations with Ask. Users see only their own."""

from rookery.core.protocol.ask import (
    ChatClear,
    ChatHistory,
    ChatSession,
    ChatSessionChange,
    ChatSessionList,
    NewChatSession,
    SessionId,
)
from rookery.core.protocol.codec import or_none
from rookery.server.ask.answers import AskAnswers
from rookery.server.ask.sessions import ChatSessions
from rookery.server.http.endpoint import LOOP, UNSEEN, Endpoints
from rookery.server.http.scope import ASK_ROOT
from rookery.server.identity.bearers import Caller
from rookery.server.identity.users import Scope

api = Endpoints(ASK_ROOT, "", scope=Scope.READ, headers=UNSEEN)


@api("GET /chat/sessions", LOOP, "awaits one query")
async def list_sessions(
    chats: ChatSessions, caller: Caller, archived: bool = False
) -> ChatSessionList:
    """Your conversations, the last used first."""
    found = await chats.of(caller.user.name, archived=archived)
    return ChatSessionList(sessions=found)


@api("POST /chat/sessions", LOOP, "awaits one write", status=201, empty_body=True)
async def create_session(chats: ChatSessions, caller: Caller, wish: NewChatSession) -> ChatSession:
    """Begin a conversation."""
    return await chats.create(caller.user.name, wish.title, temporary=wish.temporary)


@api("PATCH /chat/sessions/{session}", LOOP, "awaits one write")
async def change_session(
    chats: ChatSessions, caller: Caller, session: SessionId, wish: ChatSessionChange
) -> ChatSession:
    """Rename, archive or unarchive a conversation."""
    title, archived = or_none(wish.title), or_none(wish.archived)
    return await chats.change(session, caller.user.name, title=title, archived=archived)


@api("DELETE /chat/sessions/{session}", LOOP, "awaits a query and a write")
async def delete_session(chats: ChatSessions, caller: Caller, session: SessionId) -> ChatSession:
    """Delete a conversation."""
    found = await chats.get(session, caller.user.name)
    await chats.delete(found.id, caller.user.name)
    return found


@api("POST /chat/sessions/{session}/touch", LOOP, "awaits one write")
async def touch_session(chats: ChatSessions, caller: Caller, session: SessionId) -> ChatSession:
    """Mark a conversation as used."""
    return await chats.touch(session, caller.user.name)


@api("GET /chat/history/{session}", LOOP, "awaits two queries")
async def get_history(
    chats: ChatSessions, answers: AskAnswers, caller: Caller, session: SessionId
) -> ChatHistory:
    """A conversation with its messages."""
    asker = answers.make_asker(caller.user.name)
    found, messages = await chats.history(session, asker)
    return ChatHistory(session=found, messages=messages)


@api("POST /chat/clear", LOOP, "awaits one write")
async def clear_history(chats: ChatSessions, caller: Caller, wish: ChatClear) -> ChatSession:
    """Remove the messages of a conversation."""
    return await chats.clear(wish.session_id, caller.user.name)
