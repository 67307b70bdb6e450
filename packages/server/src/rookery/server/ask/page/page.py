"""The page of Ask: a question, its answer with numbered sources, and the user's conversations.

With scripts, an answer is shown while it is made (`static/ask.js`). Without them, posting the form
returns the page with the whole answer.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.protocol.ask import LONGEST_QUESTION, LONGEST_TITLE, ChatMessage, ChatSession
from rookery.server.ask.answers import AskAnswers, clean_question
from rookery.server.ask.ask import Ask
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
from rookery.server.boundary.domains import Domain
from rookery.server.engines.privacy import Privacy
from rookery.server.http.error_table import REFUSALS, describe_refusal
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages, lead_to_login
from rookery.server.http.scope import Form, RequestInfo
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts

HERE = "/ask"


pages = Pages(HERE)
routes = pages.make_routes
WHY = "awaits one query for the conversations; the page is rendered in a thread"


@dataclass(frozen=True, slots=True)
class AskPages(Parts):
    """The page of Ask, with what was asked and answered."""

    ask: Ask
    answers: AskAnswers
    privacy: Privacy
    visitor: Session
    clock: Clock

    @property
    def asker(self) -> Asker:
        return self.answers.make_asker(self.visitor.user)

    async def show(
        self,
        form: AskForm,
        messages: Sequence[ChatMessage] = (),
        *,
        session: ChatSession | None = None,
        problem: str = "",
        archived: bool = False,
        status: int = 200,
    ) -> Page:
        name = self.visitor.user
        found = await self.ask.chats.of(name, archived=archived) if name else ()
        here = session or next((each for each in found if each.id == form.session), None)
        view = {
            "csrf": self.visitor.csrf_token(),
            "form": form,
            "sessions": found,
            "session": here,
            "engines": sorted(self.privacy.catalogue(name or None).engines),
            "problem": problem,
            "archived": archived,
            "asks_model": self.ask.answerer.asks_model and bool(name),
            "longest_question": LONGEST_QUESTION,
            "longest_title": LONGEST_TITLE,
            "time_classes": TIME_CLASSES,
            "outcomes": OUTCOMES,
            "kinds": KINDS,
            "examples": EXAMPLES,
            "turns": pair_turns(messages),
            "now": self.clock.now(),
        }
        return Page("ask.html", view, status)


@pages("GET /ask", WHY)
async def ask_page(query: QueryParams, shown: AskPages) -> Page:
    texts = {name: query.get(name, "")[:100] for name in FIELDS}
    form = AskForm(query.get("q", "")[:LONGEST_QUESTION], texts=texts)
    return await shown.show(form, archived=query.get("archived", "") == "1")


@pages("POST /ask", WHY)
async def answer_form(request: Request, info: RequestInfo, shown: AskPages) -> Page:
    """The page with the answer in it, or with an error."""
    asker, answers, form = shown.asker, shown.answers, read_form(info.form)
    if form.errors:
        return await shown.show(form, status=422)
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
        return await shown.show(form, problem=refusal.text, status=refusal.status)
    now = shown.clock.now()
    said = (
        ChatMessage(role="user", text=question.text, at=now),
        ChatMessage(role="assistant", text=answer.answer, at=now, sources=answer.sources),
    )
    return await shown.show(AskForm(session=answer.session_id, texts=form.texts), said)


@pages("GET /ask/{session}", "awaits three queries; the page is rendered in a thread")
async def chat_page(session: str, shown: AskPages) -> Page | Response:
    if not shown.visitor.user:
        return lead_to_login("/ask/{session}", {"session": session})
    found, messages = await shown.ask.chats.history(session, shown.asker)
    return await shown.show(AskForm(session=found.id), messages, session=found)


# Commands on conversations.

Command = Callable[[ChatSessions, str, str, Form], Awaitable[str]]


@pages("POST /ask/{session}/{command}", "awaits one write", where=Domain.LOOP)
async def change_chat(
    session: str, command: str, chats: ChatSessions, form: Form, visitor: Session
) -> Response:
    carry_out = COMMANDS.get(command)
    if carry_out is None:
        raise NotFound
    if not visitor.user:
        return lead_to_login(HERE, {})
    visitor.flash(await carry_out(chats, session, visitor.user, form))
    return redirect_to(HERE if carry_out in (_delete, _archive) else f"{HERE}/{session}")


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
