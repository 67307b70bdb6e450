"""Engines by pages: listed, looked at, added, changed, restored and tried."""

import re

import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from tests.people import BORIS, OLGA
from tests.wire.apis import Api, open_api
from tests.wire.test_login import token_in
from tests.wire.test_machines_pages import enter

pytestmark = pytest.mark.anyio

LEAD = Actor("olga")


async def found_team(api: Api) -> None:
    await api.site.teams.create("owls", LEAD)


async def test_a_private_engine_is_in_nobody_elses_list() -> None:
    async with open_api() as api:
        await found_team(api)
        record = EngineRecord(name="owls~Strix", team="owls", private=True)
        await api.site.engines.put(record, LEAD)
        assert "Stockfish" in (await api.visitor.get("/engines")).text
        assert "Strix" not in (await api.visitor.get("/engines")).text
        assert (await api.visitor.get("/engines/owls~Strix")).status_code == 404
        await enter(api, OLGA)
        assert "Strix" in (await api.visitor.get("/engines")).text
        assert (await api.visitor.get("/engines/owls~Strix")).status_code == 200


async def test_an_engine_is_added_by_a_form_and_changed_and_restored() -> None:
    async with open_api() as api:
        await found_team(api)
        await enter(api, OLGA)
        page = await api.visitor.get("/engines/new")
        form = {"csrf_token": token_in(page), "do": "save", "name": "Tiny", "team": "owls"}
        form |= {"recipe.kind": "cargo", "nets.use": "none", "preset.0.name": "fast"}
        form |= {"preset.0.settings": "tc=1+0.01"}
        assert (await api.visitor.post("/engines/new", data=form)).status_code == 302
        assert (await api.site.engines.by_name("Tiny")).presets[0].settings == {"tc": "1+0.01"}
        changed = await api.visitor.post("/engines/Tiny/edit", data=form | {"recipe.kind": "make"})
        assert changed.headers["location"] == "/engines/Tiny"
        page = await api.visitor.get("/engines/Tiny")
        assert "<del>cargo</del>" in page.text
        again = {"csrf_token": token_in(page), "version": "1"}
        await api.visitor.post("/engines/Tiny/restore", data=again)
        assert (await api.site.engines.by_name("Tiny")).recipe.kind == "cargo"


async def test_what_the_form_does_not_show_stays_as_it_is() -> None:
    async with open_api() as api:
        await found_team(api)
        await api.site.engines.put(EngineRecord(name="Tiny", team="owls", history=True), LEAD)
        await enter(api, OLGA)
        page = await api.visitor.get("/engines/Tiny/edit")
        form = {"csrf_token": token_in(page), "do": "save", "team": "owls", "recipe.kind": "cargo"}
        changed = await api.visitor.post("/engines/Tiny/edit", data=form)
        assert changed.status_code == 302, changed.text
        assert (await api.site.engines.by_name("Tiny")).history


async def test_all_errors_of_a_record_stand_beside_their_fields() -> None:
    async with open_api() as api:
        await enter(api, BORIS)
        token = token_in(await api.visitor.get("/engines/new"))
        wrong = {"name": "a/b", "memory.machine": "much", "share": "-1", "recipe.kind": "magic"}
        wrong |= {"nets.pattern": "[", "private": "1", "source": "javascript:alert(1)"}
        wrong |= {"recipe.variables": "no pair", "preset.0.name": "x", "preset.0.settings": "tc"}
        page = (await api.visitor.post("/engines/new", data={"csrf_token": token, **wrong})).text
        told = dict(re.findall(r'id="([^"]+)-error">([^<]+)<', page))
        assert told.keys() == wrong.keys() - {"preset.0.name"}
        assert told["share"] == "Expected a number above 0."
        assert 'value="much"' in page
        assert "\nno pair</textarea>" in page


async def test_an_engines_progress_is_one_link_away() -> None:
    async with open_api() as api:
        for place in ("/engines", "/engines/Stockfish"):
            assert 'href="/engines/Stockfish/progress"' in (await api.visitor.get(place)).text


async def test_presets_are_told_in_words() -> None:
    async with open_api() as api:
        page = (await api.visitor.get("/engines/Stockfish")).text
        assert "elo0" not in page
        assert '<span class="soft">bounds</span> [0, 2]' in page
        assert '<span class="soft">options</span> Hash=16' in page


async def test_what_was_typed_is_not_lost_when_something_is_wrong() -> None:
    async with open_api() as api:
        await enter(api, BORIS)
        token = token_in(await api.visitor.get("/engines/new"))
        form = {"csrf_token": token, "name": "Tiny", "memory.machine": "much", "source": "typed"}
        answer = await api.visitor.post("/engines/new", data=form | {"recipe.kind": "make"})
        assert answer.status_code == 422
        assert 'id="memory.machine-error"' in answer.text
        assert 'value="typed"' in answer.text


@pytest.mark.parametrize("source", ["javascript:alert(1)", "/etc", "http://169.254.169.254/x"])
async def test_a_source_that_is_none_is_told_beside_its_field(source: str) -> None:
    async with open_api() as api:
        await enter(api, BORIS)
        token = token_in(await api.visitor.get("/engines/new"))
        form = {"csrf_token": token, "name": "Tiny", "recipe.kind": "make", "nets.use": "none"}
        answer = await api.visitor.post("/engines/new", data=form | {"source": source})
        assert answer.status_code == 422
        assert 'id="source-error"' in answer.text
        assert (await api.visitor.get("/engines/Tiny")).status_code == 404


async def test_a_bad_name_is_told_what_a_name_may_be() -> None:
    async with open_api() as api:
        await enter(api, BORIS)
        token = token_in(await api.visitor.get("/engines/new"))
        form = {"csrf_token": token, "name": "a/b", "recipe.kind": "make"}
        page = (await api.visitor.post("/engines/new", data=form)).text
        assert "A name starts with a letter or digit" in page
        assert "regex" not in page


async def test_an_engine_that_is_there_is_not_replaced_by_adding_one() -> None:
    async with open_api() as api:
        await enter(api, BORIS)
        token = token_in(await api.visitor.get("/engines/new"))
        form = {"csrf_token": token, "name": "Stockfish", "recipe.kind": "make", "nets.use": "none"}
        answer = await api.visitor.post("/engines/new", data=form)
        assert answer.status_code == 422
        assert "already an engine" in answer.text


async def test_a_trial_is_a_small_test_of_the_engine_against_itself() -> None:
    async with open_api() as api:
        await enter(api, BORIS)
        token = token_in(await api.visitor.get("/engines/new"))
        form = {"csrf_token": token, "name": "Here", "recipe.kind": "installed", "do": "try"}
        form |= {"recipe.output": "here", "nets.use": "none", "nodes": "1234"}
        form |= {"source": "https://example.org/here"}
        answer = await api.visitor.post("/engines/new", data=form)
        assert answer.status_code == 302, answer.text
        (run,) = await api.fleet.views.active()
        assert answer.headers["location"] == f"/runs/{run.id}"
        assert (run.plan.games, run.plan.engine) == (8, "Here")


async def test_who_is_in_no_team_is_led_to_the_teams() -> None:
    async with open_api() as api:
        await enter(api, OLGA)
        assert (await api.visitor.get("/engines/new")).headers["location"] == "/teams"
