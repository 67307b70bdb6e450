"""The form of a new test: what it shows, submits and refuses, for somebody without a script."""

import html
import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from types import FrameType

import httpx
import pytest

from rookery.server.farm.submission import plan_submission
from rookery.server.identity.users import APPROVERS
from tests.submissions import PLAIN, SPRT, body
from tests.twins.sites import SETTINGS, OpenSite, make_site, make_user, open_site
from tests.wire.test_login import log_in, token_in

pytestmark = pytest.mark.anyio

TYPED = {name: str(PLAIN[name]) for name in PLAIN if name != "num_games"}
FORM = {**TYPED, "kind": "sprt", "sprt.elo0": "0", "sprt.elo1": "2", "new_engine": "Stockfish"}


@dataclass(frozen=True, slots=True)
class Author:
    browser: httpx.AsyncClient
    site: OpenSite

    async def post(self, path: str = "/tests/new", **fields: str) -> httpx.Response:
        token = token_in(await self.browser.get("/tests/new"))
        return await self.browser.post(path, data={"csrf_token": token, **FORM, **fields})

    async def args(self, answer: httpx.Response) -> dict[str, object]:
        assert answer.status_code == 302, answer.text
        run_id = answer.headers["location"].rpartition("/")[2]
        found = await self.browser.get(f"/api/v1/runs/{run_id}")
        return dict(json.loads(found.content)["args"])


@asynccontextmanager
async def author() -> AsyncIterator[Author]:
    async with open_site() as site:
        await make_user(site.parts)
        assert (await log_in(site.browser)).status_code == 302
        yield Author(site.browser, site)


async def test_a_visitor_is_led_to_the_login_and_back() -> None:
    async with open_site() as site:
        answer = await site.browser.get("/tests/new?clone=1&preset=LTC")
        assert answer.headers["location"] == "/login?next=/tests/new%3Fclone%3D1%26preset%3DLTC"


async def test_a_form_makes_the_run_that_the_api_would_make() -> None:
    async with author() as ada:
        args = await ada.args(await ada.post(do="submit"))
        token = token_in(await ada.browser.get("/tests/new"))
        given = body(sprt=SPRT, num_games=None, adjudication=False)
        made = await ada.browser.post("/api/v1/runs", json=given, headers={"x-csrf-token": token})
        other = await ada.browser.get(f"/api/v1/runs/{json.loads(made.content)['id']}")
        assert args == json.loads(other.content)["args"]


async def test_an_error_stands_beside_its_field_and_nothing_typed_is_lost() -> None:
    async with author() as ada:
        page = await ada.post(do="submit", tc="soon", info='<b>"why"</b>')
        assert page.status_code == 422
        assert re.search(r'data-error="tc">[^<]+<', page.text)
        assert 'value="soon"' in page.text
        assert "&lt;b&gt;&#34;why&#34;&lt;/b&gt;" in page.text
        assert re.search(r'id="tc"[^>]*aria-invalid="true"', page.text)


async def test_an_error_is_told_once_on_a_page_and_by_its_input_in_the_part_for_scripts() -> None:
    async with author() as ada:
        page, part = await ada.post(tc="soon"), await ada.post("/tests/new/preview", tc="soon")
        assert "data-for" not in page.text
        assert '<li data-for="tc">' in part.text


def wrong_inputs(page: str) -> dict[str, str]:
    return dict(re.findall(r'data-error="([^"]+)">([^<]+)<', page))


async def test_all_that_is_wrong_is_told_at_once() -> None:
    async with author() as ada:
        typed = {"sprt.elo0": "5", "tc": "soon", "threads": "0", "throughput": "2000"}
        typed |= {"priority": "high", "book": "no book", "new_options": "Hash"}
        for way in ("submit", "preview"):
            told = wrong_inputs((await ada.post(do=way, **typed)).text)
            assert {*told} == {*typed} - {"sprt.elo0"} | {"sprt.elo1"}
        assert told["threads"] == "Expected a whole number from 1 on."


async def test_five_errors_stand_beside_their_five_fields_with_what_was_typed() -> None:
    async with author() as ada:
        typed = {"tc": "soon", "threads": "two", "resolved_base": "xyz", "sprt.alpha": "0.99"}
        typed |= {"arch_filter": "sparc", "info": "kept as it is"}
        page = (await ada.post(do="submit", **typed)).text
        told = wrong_inputs(page)
        assert {*told} == typed.keys() - {"info"}
        for name in told:
            assert re.search(rf'id="{name}"[^>]*value="{typed[name]}"[^>]*aria-invalid', page)
        assert "kept as it is" in page


@contextmanager
def counted(function: Callable[..., object]) -> Iterator[list[object]]:
    """Counts the calls of a function, which goes on as ever."""
    calls = list[object]()

    def note(frame: FrameType, event: str, _given: object) -> None:
        if event == "call" and frame.f_code is function.__code__:
            calls.append(frame.f_lineno)

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


WRONG = {"tc": "soon", "book": "no book", "priority": "high", "sprt.elo0": "9"}


@pytest.mark.parametrize("wrong", [{}, WRONG])
@pytest.mark.parametrize("way", ["submit", "preview"])
async def test_a_form_is_planned_once_however_much_is_wrong(
    way: str, wrong: dict[str, str]
) -> None:
    async with author() as ada:
        with counted(plan_submission) as plans:
            await ada.post(do=way, **wrong)
        assert len(plans) == 1


async def test_what_is_wrong_with_a_tune_is_told_at_once() -> None:
    async with author() as ada:
        typed = {"kind": "spsa", "spsa.raw_params": "a,b", "new_options": "Hash", "num_games": "3"}
        told = wrong_inputs((await ada.post(do="submit", **typed)).text)
        assert {*told} == {"spsa.raw_params", "new_options", "num_games"}


async def test_bad_rates_of_error_stand_beside_alpha() -> None:
    async with author() as ada:
        page = (await ada.post(do="submit", **{"sprt.alpha": "0.9", "sprt.beta": "0.9"})).text
        assert {*wrong_inputs(page)} == {"sprt.alpha"}


async def test_an_error_of_a_folded_field_unfolds_it() -> None:
    async with author() as ada:
        page = await ada.post(do="submit", resolved_new="xyz")
        assert '<details class="advanced" open>' in page.text


async def test_the_preview_says_in_words_what_is_tested() -> None:
    async with author() as ada:
        page = (await ada.post(do="preview")).text
        assert "Tests whether Stockfish idea is stronger than master (bounds 0 and 2 nElo)" in page
        assert "No connected machine can play it." in page
        part = (await ada.post("/tests/new/preview", tc="60+0.6")).text
        assert "60 s + 0.6 s" in part
        assert "<html" not in part


async def test_a_preset_is_laid_over_what_was_typed() -> None:
    async with author() as ada:
        page = (await ada.post(use="LTC", info="my words")).text
        assert re.search(r'name="tc" value="60\+0\.6"', page)
        assert re.search(r'name="sprt.elo1" value="2.5"', page)
        assert "my words" in page


async def test_a_clone_is_two_clicks_and_knows_its_origin() -> None:
    async with author() as ada:
        answer = await ada.post(do="submit")
        run_id = answer.headers["location"].rpartition("/")[2]
        page = (await ada.browser.get(f"/tests/new?clone={run_id}&preset=LTC")).text
        inputs = dict(
            re.findall(r'<input (?:id="[^"]*"|type="hidden") name="(.+?)" value="(.*?)"', page)
        )
        assert inputs["tc"] == "60+0.6"
        again = await ada.args(await ada.post(**{**inputs, "do": "submit"}))
        assert again["resolved_new"] == "a" * 40
        assert again["tc"] == "60+0.6"


async def test_an_approvers_own_test_waits_for_nobody() -> None:
    async with author() as ada:
        user = await ada.site.parts.users.by_name("ada")
        assert user is not None
        await ada.site.parts.users.save(replace(user, groups=frozenset({APPROVERS})))
        answer = await ada.post(do="submit")
        home = await ada.browser.get(answer.headers["location"])
        assert "The test is submitted." in home.text
        assert "has to approve it" not in home.text


HOSTILE = '"><script>alert(1)</script>'


async def count_runs(site: OpenSite) -> int:
    return len(await site.parts.fleet.views.active())


@pytest.mark.parametrize("token", ["", "00" * 32])
async def test_a_form_with_a_stale_token_is_shown_again_and_submits_nothing(token: str) -> None:
    async with author() as ada:
        typed = {**FORM, "info": HOSTILE, "do": "submit"}
        page = await ada.browser.post("/tests/new", data={"csrf_token": token, **typed})
        assert page.status_code == 403
        assert "Nothing was submitted" in page.text
        assert "&gt;&lt;script&gt;alert(1)" in page.text
        assert "<script>alert" not in page.text
        assert await count_runs(ada.site) == 0
        fresh = {"csrf_token": token_in(page), **typed}
        assert (await ada.browser.post("/tests/new", data=fresh)).status_code == 302
        assert await count_runs(ada.site) == 1


async def test_who_has_logged_out_is_shown_what_was_typed_and_goes_on_with_it() -> None:
    async with author() as ada:
        token = token_in(await ada.browser.get("/tests/new"))
        await ada.browser.post("/logout", data={"csrf_token": token})
        typed = {**FORM, "info": f"{HOSTILE}\nmore", "do": "submit"}
        page = await ada.browser.post("/tests/new", data={"csrf_token": token, **typed})
        assert page.status_code == 403
        assert 'href="/login?next=/tests/new"' in page.text
        assert "<dt>Description</dt><dd><pre>&#34;&gt;&lt;script&gt;" in page.text
        assert "<script>alert" not in page.text
        assert token not in page.text
        await log_in(ada.browser)
        found = re.findall(
            r'<textarea name="([^"]+)" hidden>\n(.*?)</textarea>', page.text, re.DOTALL
        )
        assert {name for name, _ in found} == typed.keys() - {"do"}
        again = {name: html.unescape(text) for name, text in found}
        form = await ada.browser.post("/tests/new", data={**again, "do": "again"})
        assert html.escape(typed["info"]).replace("&quot;", "&#34;") in form.text
        assert await count_runs(ada.site) == 0


async def test_a_session_that_the_server_ended_loses_nothing_either() -> None:
    async with author() as ada:
        token = token_in(await ada.browser.get("/tests/new"))
        kept = ada.browser.cookies["rookery_session"]
        await ada.browser.post("/logout", data={"csrf_token": token})
        ada.browser.cookies.set("rookery_session", kept)
        typed = {"csrf_token": token, **FORM, "do": "submit"}
        page = await ada.browser.post("/tests/new", data=typed)
        assert (page.status_code, await count_runs(ada.site)) == (403, 0)
        assert "<dt>New</dt><dd><pre>idea</pre></dd>" in page.text


async def test_a_closed_site_shows_a_stranger_nothing_but_what_was_typed() -> None:
    async with open_site(make_site(replace(SETTINGS, login_to_view=True))) as site:
        page = await site.browser.post("/tests/new", data=FORM)
        assert page.status_code == 403
        assert "<dt>New</dt><dd><pre>idea</pre></dd>" in page.text


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ],
)
@pytest.mark.parametrize("known", [True, False])
async def test_what_another_site_posts_is_not_shown(headers: dict[str, str], known: bool) -> None:
    async with author() as ada:
        browser = ada.browser if known else ada.site.visitor()
        page = await browser.post("/tests/new", data=FORM, headers=headers)
        assert page.status_code == 403
        assert "The form has expired or came from another site." in page.text
        assert "idea" not in page.text


@pytest.mark.parametrize("place", ["same-origin", ""])
async def test_what_a_browser_posts_from_here_is_shown(place: str) -> None:
    async with author() as ada:
        origin = str(ada.browser.base_url).rstrip("/")
        headers = {"sec-fetch-site": place} if place else {"origin": origin}
        page = await ada.browser.post("/tests/new", data=FORM, headers=headers)
        assert 'name="new_tag" value="idea"' in page.text


async def test_a_form_that_is_shown_again_can_not_be_framed() -> None:
    async with author() as ada:
        page = await ada.browser.post("/tests/new", data=FORM)
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


async def test_what_was_kept_is_put_back_without_a_look_at_branches() -> None:
    async with author() as ada:
        page = await ada.post(do="again", info="my words")
        assert page.status_code == 200
        assert "is restored; nothing was submitted." in page.text
        assert "my words" in page.text


async def test_a_preview_for_nobody_says_so() -> None:
    async with author() as ada:
        token = token_in(await ada.browser.get("/tests/new"))
        await ada.browser.post("/logout", data={"csrf_token": token})
        answer = await ada.browser.post("/tests/new/preview", data={"csrf_token": token, **FORM})
        assert answer.status_code == 403


async def test_a_program_is_uploaded_by_a_form_and_put_into_a_new_test() -> None:
    async with author() as ada:
        token = token_in(await ada.browser.get("/programs"))
        files = {"program": ("my-engine", b"#!/bin/sh")}
        answer = await ada.browser.post("/programs", data={"csrf_token": token}, files=files)
        assert answer.status_code == 302, answer.text
        page = (await ada.browser.get("/programs")).text
        assert "my-engine is uploaded." in page
        link = re.search(r'href="(/tests/new\?new_binary=[^"]+)"', page)
        assert link is not None
        form = (await ada.browser.get(link[1].replace("&amp;", "&"))).text
        assert 'name="new_tag" value="my-engine"' in form
        assert re.search(r'<option value="[0-9a-f]{64}" selected>my-engine', form)
        bad = {"program": ("readme.txt", b"no program")}
        refused = await ada.browser.post("/programs", data={"csrf_token": token}, files=bad)
        assert refused.status_code == 422
