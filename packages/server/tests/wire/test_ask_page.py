"""The page of Ask without script: asked by a form, answered by a page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from tests.documents import RAZORING
from tests.people import BORIS, OLGA
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_login import log_in, token_in

pytestmark = pytest.mark.anyio

EVIL = replace(
    RAZORING,
    title="<script>alert(1)</script> razoring",
    body="A bigger <b>razoring</b> margin.",
    url="javascript:alert(2)",
)


@asynccontextmanager
async def open_page(answers: int = 16) -> AsyncIterator[Api]:
    async with open_api(ask_answers=answers) as api:
        await api.site.passages.apply((EVIL,), ())
        yield api


async def post(api: Api, path: str = "/ask", **fields: str) -> tuple[int, str]:
    token = token_in(await api.visitor.get("/ask"))
    answer = await api.visitor.post(path, data={"csrf_token": token, **fields})
    return answer.status_code, answer.text


async def test_a_visitor_asks_and_is_shown_an_escaped_answer_with_its_sources() -> None:
    async with open_page() as api:
        status, page = await post(api, question="Was a razoring margin tried?", engine="owl")
    assert status == 200
    assert "&lt;script&gt;alert(1)&lt;/script&gt; razoring" in page
    assert "<script>alert" not in page
    assert "javascript:" not in page
    assert '<a class="cite" href="#s1-1">[1]</a>' in page
    assert "&lt;b&gt;<mark>razoring</mark>&lt;/b&gt;" in page
    assert 'value="owl"' in page


async def test_what_is_wrong_stands_beside_its_field_and_nothing_typed_is_lost() -> None:
    async with open_page() as api:
        status, page = await post(api, question="", user="sven", since="yesterday")
    assert status == 422
    assert 'id="question-error">Enter a question.' in page
    assert 'id="since-error">Enter a date such as 2026-03-01.' in page
    assert 'value="sven"' in page


async def test_a_full_gate_is_told_on_the_page_with_the_question_kept() -> None:
    async with open_page(answers=1) as api:
        with api.site.ask.gate.enter():
            status, page = await post(api, question="razoring margins")
    assert (status, "as many questions" in page, "razoring margins</textarea>" in page) == (
        503,
        True,
        True,
    )


async def test_a_conversation_goes_on_is_renamed_put_away_and_deleted() -> None:
    async with open_page() as api:
        await with_password(api, BORIS)
        await log_in(api.visitor, username="boris")
        await post(api, question="Was a razoring margin tried?")
        (chat,) = await api.site.ask.chats.of("boris")
        await post(api, question="by whom?", session=chat.id)
        page = (await api.visitor.get(f"/ask/{chat.id}")).text
        await post(api, f"/ask/{chat.id}/rename", title="Razors")
        listed = (await api.visitor.get("/ask")).text
        await post(api, f"/ask/{chat.id}/archive")
        away = (await api.visitor.get("/ask?archived=1")).text
        await post(api, f"/ask/{chat.id}/delete")
        gone = await api.visitor.get(f"/ask/{chat.id}")
    assert page.count('class="asked"') == 2
    assert (">Razors</a>" in listed, ">Razors</a>" in away, gone.status_code) == (True, True, 404)


async def test_anothers_conversation_is_not_there() -> None:
    async with open_page() as api:
        await with_password(api, BORIS)
        chat = await api.site.ask.chats.create(OLGA.name, "Mine", temporary=False)
        await log_in(api.visitor, username="boris")
        read = await api.visitor.get(f"/ask/{chat.id}")
        asked, _ = await post(api, question="razoring", session=chat.id)
        cleared, _ = await post(api, f"/ask/{chat.id}/clear")
    assert (read.status_code, asked, cleared) == (404, 404, 404)
