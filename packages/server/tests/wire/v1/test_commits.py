"""Runs by branch: commits, messages and benches are looked up when they are left out."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

from rookery.core.model.engine import STOCKFISH
from rookery.server.sources.commits import Commit, SourceError
from tests.people import BORIS
from tests.submissions import body
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio

UNKNOWN = dict.fromkeys(("resolved_new", "resolved_base", "new_signature", "base_signature"))


@dataclass
class Told:
    """A finder that tells what the test said."""

    commits: dict[str, Commit] = field(
        default_factory=lambda: {
            "idea": Commit("c" * 40, "Prune more\n\nBench: 1234567"),
            "master": Commit("d" * 40, "Bench bench = 7,654,321"),
        }
    )
    asked: list[tuple[str, str, bool]] = field(default_factory=list)
    held: Event | None = None
    asking: Event = field(default_factory=Event)

    def find(self, repository: str, revision: str, *, known: bool) -> Commit:
        self.asked.append((repository, revision, known))
        self.asking.set()
        if self.held is not None:
            self.held.wait(60)
        if revision not in self.commits:
            raise SourceError(f"there is no {revision}")
        return self.commits[revision]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def api(told: Told) -> AsyncIterator[Api]:
    async with open_api(finder=told) as opened:
        yield opened


async def test_commits_benches_and_words_are_filled_in(api: Api) -> None:
    run = await api.fleet.views.known_run(await api.submitted(BORIS, **UNKNOWN))
    new, base = run.plan.sides
    assert (new.commit, new.signature, new.message) == ("c" * 40, "1234567", "Prune more")
    assert (base.commit, base.signature) == ("d" * 40, "7654321")
    assert run.plan.info == "Prune more"


async def test_nobody_is_asked_for_what_is_given(api: Api, told: Told) -> None:
    await api.submitted(BORIS)
    assert told.asked == []


async def test_what_is_not_there_is_a_fault_of_that_field(api: Api) -> None:
    wish = body(**{**UNKNOWN, "base_tag": "nothing"})
    answer = await api.post("/api/v1/runs", BORIS, wish)
    assert answer.status_code == 400
    assert "base_tag: there is no nothing" in answer.text


async def test_nobody_is_asked_when_something_else_is_wrong(api: Api, told: Told) -> None:
    answer = await api.post("/api/v1/runs", BORIS, body(**UNKNOWN, tc="10+"))
    assert "tc: " in answer.text
    assert told.asked == []


async def test_a_message_without_a_bench_is_told(api: Api, told: Told) -> None:
    told.commits["idea"] = Commit("c" * 40, "no number here")
    answer = await api.post("/api/v1/runs", BORIS, body(**UNKNOWN))
    assert "new_signature: give the bench" in answer.text


async def test_the_server_shows_itself_to_repositories_that_are_granted_alone(
    api: Api, told: Told
) -> None:
    await api.submitted(BORIS, **{**UNKNOWN, "tests_repo": STOCKFISH.source + ".git/"})
    await api.submitted(BORIS, **{**UNKNOWN, "tests_repo": "https://github.com/sven/Other"})
    await api.post("/api/v1/repositories", BORIS, {"repository": "https://github.com/sven/Other/"})
    await api.submitted(BORIS, **{**UNKNOWN, "tests_repo": "https://GitHub.com/sven/Other.git"})
    assert [known for _, _, known in told.asked] == [True, True, False, False, True, True]


async def test_a_tune_of_one_branch_asks_once(api: Api, told: Told) -> None:
    tune = {"raw_params": "x,1,0,2,1,0.002"}
    await api.submitted(BORIS, **UNKNOWN, sprt=None, spsa=tune, base_tag="idea")
    assert len(told.asked) == 1


async def test_a_tune_of_a_program_asks_nobody(tmp_path: Path, told: Told) -> None:
    async with open_api(finder=told, files=tmp_path) as api:
        headers = dict(await api.headers(BORIS))
        given = await api.visitor.post("/api/v1/binaries", content=b"#!x", headers=headers)
        tune = {"spsa": {"raw_params": "x,1,0,2,1,0.002"}, "new_binary": given.json()["sha256"]}
        await api.submitted(BORIS, **UNKNOWN, sprt=None, **tune)
    assert told.asked == []


async def test_whoever_comes_on_top_is_told_at_once(api: Api, told: Told) -> None:
    told.held = Event()
    first = asyncio.ensure_future(api.post("/api/v1/runs", BORIS, body(**UNKNOWN)))
    await api.site.threads.io(told.asking.wait, 20)
    assert (await api.post("/api/v1/runs", BORIS, body(**UNKNOWN))).status_code == 503
    told.held.set()
    assert (await first).status_code == 201


async def test_without_anybody_to_ask_that_is_told() -> None:
    async with open_api() as api:
        answer = await api.post("/api/v1/runs", BORIS, body(**UNKNOWN))
    assert "new_tag: this server does not look up idea" in answer.text
