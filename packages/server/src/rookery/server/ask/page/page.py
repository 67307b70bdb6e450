"""The page of Ask: a question, its answer with numbered sources, and the user's conversations.

With scripts, an answer is shown while it is made (`static/ask.js`). Without them, posting the form
returns the page with the whole answer.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.protocol.ask import LONGEST_QUESTION, LONGEST_TITLE, ChatMessage, ChatSession
from rookery.server.ask.answers import ask_answers_of, clean_question
from rookery.server.ask.chat import Question
from rookery.server.ask.page.view import (
    EXAMPLES,
    FIELDS,
    KINDS,
    OUTCOMES,
    TIME_CLASSES,
    AskForm,
    make_filter,
    pair_turns,
    read_form,
)
from rookery.server.ask.passages import Asker
from rookery.server.ask.sessions import ChatSessions
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS, describe_refusal
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.page import redirect_to, render_page
from rookery.server.http.scope import Form, request_info_of, session_of

HERE = "/ask"


# The endpoints.


@runs(Domain.THREAD, "awaits one query for the conversations; the page is rendered in a thread")
async def ask_page(request: Request) -> Response:
    if request.method == "POST":
        return await _answer(request)
    asker = _asker(request)
    texts = {name: request.query_params.get(name, "")[:100] for name in FIELDS}
    question = request.query_params.get("q", "")[:LONGEST_QUESTION]
    archived = request.query_params.get("archived", "") == "1"
    view = await _load(request, asker, AskForm(question, texts=texts), archived=archived)
    return await _render(request, view)


@runs(Domain.THREAD, "awaits three queries; the page is rendered in a thread")
async def chat_page(request: Request) -> Response:
    asker = _asker(request)
    if not asker.name:
        return redirect_to(f"/login?next={request.url.path}")
    chat = str(request.path_params["session"])
    session, messages = await site_of(request).ask.chats.history(chat, asker)
    view = await _load(request, asker, AskForm(session=session.id), session=session)
    return await _render(request, view, messages)


async def _answer(request: Request) -> Response:
    """The page with the answer in it, or with an error."""
    asker, info = _asker(request), request_info_of(request.scope)
    answers = ask_answers_of(request)
    form = read_form(info.form)
    if form.errors:
        return await _render(request, await _load(request, asker, form), status=422)
    question = Question(
        text=clean_question(form.question),
        asker=asker,
        wanted=make_filter(form.texts),
        session=form.session if asker.name else "",
        temporary=False,
    )
    try:
        answers.charge_visitor(asker.name, info.client)
        answer = await answers.answer(question, info.client, request.receive)
    except REFUSALS as error:
        refusal = describe_refusal(error)
        if refusal.status == 404:
            raise
        view = await _load(request, asker, form, problem=refusal.text)
        return await _render(request, view, status=refusal.status)
    now = site_of(request).clock.now()
    said = (
        ChatMessage(role="user", text=question.text, at=now),
        ChatMessage(role="assistant", text=answer.answer, at=now, sources=answer.sources),
    )
    again = AskForm(session=answer.session_id, texts=form.texts)
    return await _render(request, await _load(request, asker, again), said)


async def _load(
    request: Request,
    asker: Asker,
    form: AskForm,
    *,
    session: ChatSession | None = None,
    problem: str = "",
    archived: bool = False,
) -> Mapping[str, object]:
    site = site_of(request)
    found = await site.ask.chats.of(asker.name, archived=archived) if asker.name else ()
    here = session or next((each for each in found if each.id == form.session), None)
    return {
        "csrf": session_of(request.scope).csrf_token(),
        "form": form,
        "sessions": found,
        "session": here,
        "engines": sorted(site.privacy.catalogue(asker.name or None).engines),
        "problem": problem,
        "archived": archived,
        "asks_model": site.ask.answerer.asks_model and bool(asker.name),
        "longest_question": LONGEST_QUESTION,
        "longest_title": LONGEST_TITLE,
        "time_classes": TIME_CLASSES,
        "outcomes": OUTCOMES,
        "kinds": KINDS,
        "examples": EXAMPLES,
    }


async def _render(
    request: Request,
    view: Mapping[str, object],
    messages: Sequence[ChatMessage] = (),
    status: int = 200,
) -> Response:
    shown = {**view, "turns": pair_turns(messages), "now": site_of(request).clock.now()}
    return await render_page(request, "ask.html", shown, status)


def _asker(request: Request) -> Asker:
    return ask_answers_of(request).make_asker(session_of(request.scope).user)


# Commands on conversations.

Command = Callable[[ChatSessions, str, str, Form], Awaitable[str]]


@runs(Domain.LOOP, "awaits one write")
async def change_chat(request: Request) -> Response:
    asker, chat = _asker(request), str(request.path_params["session"])
    command = COMMANDS.get(str(request.path_params["command"]))
    if command is None:
        raise NotFound
    if not asker.name:
        return redirect_to(f"/login?next={HERE}")
    form = request_info_of(request.scope).form
    told = await command(site_of(request).ask.chats, chat, asker.name, form)
    session_of(request.scope).flash(told)
    return redirect_to(HERE if command in (_delete, _archive) else f"{HERE}/{chat}")


async def _rename(chats: ChatSessions, chat: str, user: str, form: Form) -> str:
    title = clean_question(form.text("title"))[:LONGEST_TITLE]
    changed = await chats.change(chat, user, title=title or None)
    return f"The conversation is now called “{changed.title}”."


async def _archive(chats: ChatSessions, chat: str, user: str, _form: Form) -> str:
    changed = await chats.change(chat, user, archived=True)
    return f"“{changed.title}” is archived."


async def _take_back(chats: ChatSessions, chat: str, user: str, _form: Form) -> str:
    changed = await chats.change(chat, user, archived=False)
    return f"“{changed.title}” is restored."


async def _clear(chats: ChatSessions, chat: str, user: str, _form: Form) -> str:
    await chats.clear(chat, user)
    return "The messages are deleted."


async def _delete(chats: ChatSessions, chat: str, user: str, _form: Form) -> str:
    await chats.delete(chat, user)
    return "The conversation is deleted."


COMMANDS: Mapping[str, Command] = {
    "rename": _rename,
    "archive": _archive,
    "restore": _take_back,
    "clear": _clear,
    "delete": _delete,
}


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, ask_page, methods=["GET", "POST"]),
        Route(f"{HERE}/{{session}}", chat_page, methods=["GET"]),
        Route(f"{HERE}/{{session}}/{{command}}", change_chat, methods=["POST"]),
    ]
