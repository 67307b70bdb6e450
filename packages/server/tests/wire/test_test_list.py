"""The list of tests: filters, pages, and who finds what."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.server.http.session import SessionData
from tests.makers import pairs
from tests.people import BORIS, OLGA, SVEN
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def end(api: Api, **changes: object) -> str:
    """A run that was played and stopped."""
    run_id = await api.submitted(BORIS, **changes)
    api.clock.move(seconds=1)
    await api.fleet.commands.stop(run_id, Actor("boris", approver=True))
    return run_id


async def find(api: Api, query: str, viewer: str = "") -> list[str]:
    """The tags of the tests that somebody sees, in their order."""
    page = await visit(api, f"/tests?{query}", viewer)
    assert page.status_code == 200
    return re.findall(r'<a class="tag" href="/runs/[0-9a-f]+">([^<]+)<', page.text)


async def visit(api: Api, path: str, viewer: str = "") -> httpx.Response:
    """By a session's cookie, as a browser does."""
    if not viewer:
        return await api.visitor.get(path)
    user = await api.site.users.by_name(viewer)
    assert user is not None
    data = SessionData(viewer, api.site.sessions.mark(user), "c")
    cookie = f"rookery_session={api.site.cookies.close(data)}"
    return await api.visitor.get(path, headers={"cookie": cookie})


async def test_tests_are_found_by_text_user_engine_and_day(api: Api) -> None:
    await end(api, new_tag="razoring")
    await end(api, new_tag="king-safety", info="Attack by PAWNS")
    await api.submitted(BORIS, new_tag="open-razor")
    assert await find(api, "") == ["king-safety", "razoring"]
    assert await find(api, "text=RAZOR") == ["open-razor", "razoring"]
    assert await find(api, "text=pawns") == ["king-safety"]
    assert await find(api, "user=sven") == []
    assert await find(api, "user=boris&engine=Stockfish&text=king") == ["king-safety"]
    today = f"{api.clock.now():%Y-%m-%d}"
    assert await find(api, f"from={today}&to={today}") == ["king-safety", "razoring"]
    assert await find(api, "to=2020-01-01") == []
    assert await find(api, "result=passed") == []


@pytest.mark.parametrize("text", ["STOCKF", "c0ffee1", "C0FFEE12"])
async def test_an_engine_or_the_beginning_of_a_commit_finds_tests(api: Api, text: str) -> None:
    commit = {"resolved_new": "c0ffee12" + "0" * 32}
    await end(api, new_tag="over", **commit)
    await api.submitted(BORIS, new_tag="open", **commit)
    await api.submitted(OLGA, new_tag="other", new_engine="Fledgling", base_engine="Fledgling")
    assert await find(api, f"text={text}") == ["open", "over"]


async def test_the_commit_of_a_test_that_waits_is_found_by_its_people_alone(api: Api) -> None:
    await api.submitted(OLGA, new_tag="idea", resolved_new="c0ffee12" + "0" * 32)
    assert await find(api, "text=c0ffee12", OLGA.name) == ["idea"]
    assert await find(api, "text=c0ffee12") == []


@pytest.mark.parametrize("text", ["{}", "http://farm.example/runs/{}/tasks", "/tests/view/{}?x=1"])
async def test_an_id_or_address_leads_to_the_test_itself(api: Api, text: str) -> None:
    run_id = await api.submitted(OLGA)
    answer = await api.visitor.get("/tests", params={"text": text.format(run_id)})
    assert (answer.status_code, answer.headers["location"]) == (302, f"/runs/{run_id}")
    unknown = await api.visitor.get("/tests", params={"text": text.format("f" * 24)})
    assert unknown.status_code == 200


async def test_a_test_under_way_is_listed_as_on_the_start_page(api: Api) -> None:
    run_id = await api.submitted(BORIS)
    await api.played(await api.granted(), pairs(ld=2, even=10, wd=4))
    api.clock.move(seconds=60)
    rows = [
        re.findall(rf'<tr id="run-{run_id}".*?</tr>', (await visit(api, path)).text, re.DOTALL)
        for path in ("/", "/tests?user=boris", "/tests/live?user=boris")
    ]
    assert rows[0]
    assert rows == [rows[0]] * 3
    assert "0/min" not in rows[0][0]


@pytest.mark.parametrize("query", ["page=-3", "from=x", "to=9999-12-31", "result=pink", "long=2"])
async def test_filters_that_make_no_sense_are_passed_over(api: Api, query: str) -> None:
    await end(api, new_tag="razoring")
    assert await find(api, query) == ["razoring"]


async def test_a_deleted_test_is_found_by_those_who_may_restore_it(api: Api) -> None:
    run_id = await api.submitted(OLGA, new_tag="gone")
    await api.fleet.commands.delete(run_id, Actor("olga"))
    assert await find(api, "deleted=1") == []
    assert await find(api, "deleted=1", SVEN.name) == []
    assert await find(api, "deleted=1", OLGA.name) == ["gone"]
    assert await find(api, "deleted=1", BORIS.name) == ["gone"]
    assert await find(api, "", BORIS.name) == []


async def test_words_that_a_stranger_may_not_read_find_nothing(api: Api) -> None:
    await api.submitted(OLGA, new_tag="idea", msg_new="hush words", info="hush words")
    assert await find(api, "text=hush", OLGA.name) == ["idea"]
    assert await find(api, "text=hush") == []


@pytest.mark.parametrize(("path", "renderings"), [("/", 5), ("/live", 4)])
async def test_what_moves_is_shared_by_those_alone_who_may_see_the_same(
    api: Api, path: str, renderings: int
) -> None:
    """Strangers share the whole start page beside its part."""
    await api.submitted(OLGA, new_tag="idea", msg_new="hush words", info="hush words")
    pages = [(await visit(api, path, name)).text for name in (OLGA.name, "", SVEN.name, "boris")]
    assert ["hush words" in page for page in pages] == [True, False, False, True]
    assert ["/approve" in page for page in pages] == [False, False, False, True]
    await visit(api, path)
    assert api.site.shared_parts.renderings == renderings


async def test_the_start_page_with_ones_own_tests_has_one_address_for_all(api: Api) -> None:
    mine = await visit(api, "/?mine=1&engine=Tiny", OLGA.name)
    assert mine.headers["location"] == "/?engine=Tiny&user=olga"
    assert (await visit(api, "/?mine=1")).headers["location"] == "/login?next=%2F%3Fmine%3D1"


async def test_a_private_engines_tests_are_not_found_by_others(api: Api) -> None:
    lead = Actor("olga")
    await api.site.teams.create("owls", lead)
    await api.site.engines.put(EngineRecord(name="owls~Strix", team="owls", private=True), lead)
    run_id = await api.submitted(
        OLGA, new_tag="wing", new_engine="owls~Strix", base_engine="owls~Strix"
    )
    assert await find(api, "text=wing", OLGA.name) == ["wing"]
    for viewer in ("", BORIS.name):
        page = await visit(api, "/tests?text=wing", viewer)
        assert "Strix" not in page.text
        assert "/runs/" not in page.text
        assert (await visit(api, f"/tests?text={run_id}", viewer)).status_code == 200


async def test_a_long_list_has_pages(api: Api) -> None:
    for number in range(51):
        await end(api, new_tag=f"t{number}")
    assert len(await find(api, "user=boris")) == 50
    page = await api.visitor.get("/tests?user=boris&page=2")
    assert "51 to 51 of 51" in page.text
    assert await find(api, "user=boris&page=2") == ["t0"]
