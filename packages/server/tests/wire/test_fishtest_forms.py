"""fishtest's forms, posted as scripts do: log in, read the token from the form's page, post."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx
import pytest

from rookery.server.identity.users import APPROVERS
from tests.submissions import PLAIN, SRI
from tests.twins.sites import PASSWORD, OpenSite, make_user, open_site
from tests.wire.test_login import token_in

pytestmark = pytest.mark.anyio

FORM = {
    "tests-repo": str(PLAIN["tests_repo"]),
    "test-branch": "idea",
    "base-branch": "master",
    "test-signature": "2050811",
    "base-signature": "2050812",
    "new-options": "Hash=16",
    "base-options": "Hash=16",
    "run-info": "a try",
    "stop_rule": "sprt",
    "num-games": "60000",
    "elo_model": "normalized",
    "sprt_elo0": "0.0",
    "sprt_elo1": "2.0",
    "spsa_algorithm": "classic",
    "spsa_A": "0.1",
    "spsa_alpha": "0.602",
    "spsa_gamma": "0.101",
    "spsa_raw_params": "",
    "threads": "1",
    "tc": "10+0.1",
    "new_tc": "10+0.1",
    "priority": "0",
    "throughput": "100",
    "book": "UHO_Lichess_4852_v1.epd",
    "book-depth": "8",
    "arch-filter": "",
    "compiler": "g++",
    "auto-purge": "on",
    "resolved_base": "b" * 40,
    "resolved_new": "a" * 40,
}
NET = b"a net of a few bytes"
NET_NAME = f"nn-{hashlib.sha256(NET).hexdigest()[:12]}.nnue"


@dataclass(frozen=True, slots=True)
class Script:
    """What a script does with its session."""

    session: httpx.AsyncClient
    site: OpenSite

    async def post(self, path: str, form: str = "/tests/run", **fields: str) -> httpx.Response:
        token = token_in(await self.session.get(form))
        return await self.session.post(path, data={"csrf_token": token, **fields})

    async def submit(self, **changes: str) -> str:
        answer = await self.post("/tests/run", **{**FORM, **changes})
        assert answer.status_code == 302, answer.text
        before, _, after = answer.headers["location"].partition("?")
        assert (before.rpartition("/")[0], after) == ("/tests/view", "follow=1")
        return str(before.rpartition("/")[2])

    async def args(self, run_id: str) -> dict[str, object]:
        found = json.loads((await self.session.get(f"/api/v1/runs/{run_id}")).content)
        return dict(found["args"])

    async def press(self, button: str, run_id: str, **fields: str) -> str:
        """What the next page says."""
        name = "run" if button == "modify" else "run-id"
        answer = await self.post(f"/tests/{button}", **{name: run_id, **fields})
        assert (answer.status_code, answer.headers["location"]) == (302, "/tests")
        return (await self.session.get("/login?next=/upload", follow_redirects=True)).text


@asynccontextmanager
async def script(*, approver: bool = False) -> AsyncIterator[Script]:
    async with open_site() as site:
        user = await make_user(site.parts)
        if approver:
            await site.parts.users.save(replace(user, groups=frozenset({APPROVERS})))
        token = token_in(await site.browser.get("/login"))
        login = {"username": "ada", "password": PASSWORD, "stay_logged_in": "1"}
        entered = await site.browser.post("/login", data={"csrf_token": token, **login})
        assert entered.status_code == 302
        yield Script(site.browser, site)


async def test_a_test_is_submitted_with_fishtests_fields() -> None:
    async with script() as ada:
        args = await ada.args(await ada.submit())
        told = {name: args[name] for name in ("new_tag", "tc", "num_games", "info", "auto_purge")}
        assert told == {
            "new_tag": "idea",
            "tc": "10+0.1",
            "num_games": 800_000,
            "info": "a try",
            "auto_purge": True,
        }
        assert args["adjudication"] is True
        assert args["new_tc"] == "10+0.1"


async def test_boxes_mean_what_they_mean_there() -> None:
    async with script() as ada:
        boxes = {"odds": "on", "new_tc": "20+0.2", "adjudication": "on", "checkbox-compiler": "on"}
        args = await ada.args(await ada.submit(**boxes))
        assert (args["new_tc"], args["adjudication"]) == ("20+0.2", False)
        assert args["compiler"] == "g++"


async def test_a_tune_and_a_match_of_fixed_games_are_submitted_too() -> None:
    async with script() as ada:
        tune = {"stop_rule": "spsa", "spsa_raw_params": "Margin,500,300,700,25,0.002"}
        spsa = (await ada.args(await ada.submit(**tune)))["spsa"]
        assert isinstance(spsa, dict)
        assert spsa["num_iter"] == 30_000
        assert (await ada.args(await ada.submit(stop_rule="numgames")))["num_games"] == 60_000


async def test_a_refusal_is_a_page_that_says_why_and_keeps_the_form() -> None:
    async with script() as ada:
        page = await ada.post("/tests/run", **{**FORM, "tc": "soon"})
        assert page.status_code == 200
        assert 'value="soon"' in page.text
        assert 'aria-invalid="true"' in page.text
        logistic = await ada.post("/tests/run", **{**FORM, "elo_model": "logistic"})
        assert "Only normalized bounds" in logistic.text


async def test_a_refusal_of_what_the_form_does_not_show_stands_above_it() -> None:
    async with script() as ada:
        page = await ada.post("/tests/run", **{**FORM, "rescheduled_from": "nothing"})
        assert page.status_code == 200
        assert "rescheduled_from: Expected the id of a test" in page.text


async def test_an_unknown_way_of_tuning_is_refused_where_a_tune_is_wanted() -> None:
    async with script() as ada:
        odd = {**FORM, "spsa_algorithm": "weird"}
        tune = {"stop_rule": "spsa", "spsa_raw_params": "a,1,0,2,0.5,0.002"}
        refused = await ada.post("/tests/run", **{**odd, **tune})
        assert refused.status_code == 200
        assert "Only the classic algorithm is supported here" in refused.text
        assert await ada.submit(**odd)


async def test_the_buttons_of_a_run_work_and_lead_to_the_list() -> None:
    async with script(approver=True) as ada:
        run_id = await ada.submit()
        changed = {"num-games": "400000", "priority": "1", "throughput": "50", "info": "slower"}
        assert "idea is modified." in await ada.press("modify", run_id, **changed)
        args = await ada.args(run_id)
        assert (args["priority"], args["throughput"], args["info"]) == (1, 50, "slower")
        assert args["auto_purge"] is False
        assert "idea is stopped." in await ada.press("stop", run_id)
        assert "nothing" in (await ada.press("purge", run_id)).lower()
        assert "idea is deleted" in await ada.press("delete", run_id)
        assert "There is no test with this id." in await ada.press("approve", "f" * 24)


async def test_without_the_token_nothing_is_taken() -> None:
    async with script() as ada:
        assert (await ada.session.post("/tests/run", data=FORM)).status_code == 403
        files = {"network": (NET_NAME, NET)}
        late = {"csrf_token": "f" * 32}
        assert (await ada.session.post("/upload", files=files)).status_code == 403
        assert (await ada.session.post("/upload", data=late, files=files)).status_code == 403


async def test_a_net_is_uploaded_with_the_token_in_its_first_field() -> None:
    async with script() as ada:
        token = token_in(await ada.session.get("/upload"))
        files = {"network": (NET_NAME, NET)}
        answer = await ada.session.post("/upload", data={"csrf_token": token}, files=files)
        assert (answer.status_code, answer.headers["location"]) == (302, "/nets")
        assert await ada.site.parts.nets.rows.get(NET_NAME) is not None
        other = {"network": ("nn-000000000000.nnue", NET)}
        refused = await ada.session.post("/upload", files=other, headers={"x-csrf-token": token})
        assert refused.status_code == 422
        assert f"makes its name {NET_NAME}" in refused.text


async def test_a_form_whose_fields_come_behind_its_file_keeps_nothing() -> None:
    async with script() as ada:
        token = token_in(await ada.session.get("/upload"))
        head, late = {"x-csrf-token": token}, [("engine", "Stockfish"), ("csrf_token", token)]
        for fields, status in ((late, 422), (late[1:], 302)):
            parts: list[tuple[str, tuple[str | None, bytes]]] = [("network", (NET_NAME, NET))]
            parts += [(name, (None, text.encode())) for name, text in fields]
            answer = await ada.session.post("/upload", files=parts, headers=head)
            assert answer.status_code == status, answer.text
            kept = await ada.site.parts.nets.rows.get(NET_NAME)
            assert (kept is not None) == (status == 302)


async def test_the_books_hash_is_known_without_being_told() -> None:
    async with script() as ada:
        run = await ada.site.parts.fleet.views.known_run(await ada.submit())
        assert run.plan.book_sri not in ("", SRI)


async def test_the_forms_about_people_and_machines_are_taken() -> None:
    async with script(approver=True) as ada:
        await make_user(ada.site.parts, "eve")
        blocked = await ada.post("/user/eve", user="eve", blocked="1", message="why")
        assert blocked.status_code == 302
        eve = await ada.site.parts.users.by_name("eve")
        assert eve is not None
        assert eve.blocked
        await ada.post("/workers/eve-4cores-abcd1234", submit="Submit", blocked="on", message="hot")
        assert await ada.site.parts.fleet.views.blocks() == {"eve-4cores-abcd1234": "hot"}
        await ada.post("/workers/eve-4cores-abcd1234", submit="Submit")
        assert await ada.site.parts.fleet.views.blocks() == {}


async def test_a_profile_is_changed_by_fishtests_form() -> None:
    async with script() as ada:
        repo = "https://github.com/ada/Stockfish"
        fields = {"user": "ada", "old_password": PASSWORD, "tests_repo": repo}
        both = {"password": "", "password2": "", "email": "ada@x.org"}
        assert (await ada.post("/user", **fields, **both)).status_code == 302
        user = await ada.site.parts.users.by_name("ada")
        assert user is not None
        assert (user.email, user.repositories["Stockfish"]) == ("ada@x.org", repo)
        wrong = await ada.post("/user", **{**fields, **both, "password": "a", "password2": "b"})
        assert "The passwords do not match." in wrong.text
