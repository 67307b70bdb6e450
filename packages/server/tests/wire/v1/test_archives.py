"""Sources and programs that workers get from this server, and who does not get them."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import Scope, User
from rookery.server.sources.commits import Archive, SourceError, mirror_name
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import PLAIN, body
from tests.twins.sites import PASSWORD
from tests.wire.apis import Api, Json, open_api
from tests.wire.worker.farm import Worker, worker_info

pytestmark = pytest.mark.anyio

REPOSITORY = str(PLAIN["tests_repo"])
NAME = mirror_name(REPOSITORY)
PLACE = f"/src/{NAME}/zipball/{'a' * 40}"
STRIX: Json = {"name": "owls~Strix", "team": "owls", "private": True, "source": f"{REPOSITORY}.git"}
OF_STRIX = {"new_engine": "owls~Strix", "base_engine": "owls~Strix"}


@dataclass
class Packed:
    """An archiver that has packed everything, and remembers who it was."""

    file: Path
    missing: tuple[str, ...] = ()
    asked: list[tuple[str, str, bool]] = field(default_factory=list)

    def archive(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        self.asked.append((repository, commit, repository in known))
        if commit == "0" * 40:
            raise SourceError("there is no such commit")
        self.file.write_bytes(b"PK sources")
        return Archive(self.file, self.missing)

    def forget_archives(self, days: int) -> None:
        """They stay."""


@pytest.fixture
def packed(tmp_path: Path) -> Packed:
    return Packed(tmp_path / "source.zip")


@pytest.fixture
async def api(packed: Packed, tmp_path: Path) -> AsyncIterator[Api]:
    async with open_api(archiver=packed, files=tmp_path / "files") as opened:
        yield opened


async def make_strix(api: Api) -> None:
    """A private engine of a team that Olga leads and Sven is not in."""
    await api.post("/api/v1/teams", OLGA, {"name": "owls"})
    headers = dict(await api.headers(OLGA))
    made = await api.visitor.put("/api/v1/engines/owls~Strix", json=STRIX, headers=headers)
    assert made.status_code == 201, made.text


async def as_machine(api: Api, user: User, path: str = PLACE) -> int:
    """As a worker of ours asks, with its owner's password."""
    hashed = await Passwords(api.site.threads, api.clock, b"key").hash(PASSWORD)
    await api.site.users.save(replace(user, password_hash=hashed))
    word = base64.b64encode(f"{user.name}:{PASSWORD}".encode()).decode()
    headers = {"authorization": f"Basic {word}"}
    return (await api.visitor.get(path, headers=headers)).status_code


async def test_a_worker_is_sent_to_us_for_the_sources_of_a_mirrored_run(api: Api) -> None:
    await api.submitted(BORIS, mirrored=True)
    hashed = await Passwords(api.site.threads, api.clock, b"key").hash(PASSWORD)
    await api.site.users.save(replace(OLGA, password_hash=hashed))
    answer = await Worker(api.visitor, worker_info("olga")).request_task()
    args: dict[str, Any] = answer["run"]["args"]
    assert args["tests_repo"] == f"http://localhost/src/{NAME}"
    place = f"{args['tests_repo']}/zipball/{args['resolved_new']}"
    fetched = await api.visitor.get(place)
    assert (fetched.status_code, fetched.content) == (200, b"PK sources")
    assert fetched.headers["content-type"] == "application/zip"


async def test_workers_fetch_all_sources_from_us_where_the_settings_say_so(
    packed: Packed, tmp_path: Path
) -> None:
    async with open_api(archiver=packed, files=tmp_path, mirror_sources=True) as api:
        await api.submitted(BORIS)
        assert (await api.get(PLACE)).content == b"PK sources"


async def test_submodules_that_are_missing_are_told(api: Api, packed: Packed) -> None:
    packed.missing = ("lib/\u00e4\n (there is no host example.invalid)",)
    made = await api.post("/api/v1/runs", BORIS, body(mirrored=True))
    (warning,) = [each for each in made.json()["warnings"] if each.startswith("submodules:")]
    assert warning == f"submodules: without {packed.missing[0]}"
    fetched = await api.get(PLACE)
    told = "lib/?? (there is no host example.invalid)"
    assert fetched.headers["x-rookery-missing-submodules"] == told
    packed.missing = ()
    assert "x-rookery-missing-submodules" not in (await api.get(PLACE)).headers


async def test_people_see_where_the_source_really_is(api: Api) -> None:
    run_id = await api.submitted(BORIS, mirrored=True)
    assert (await api.get(f"/api/v1/runs/{run_id}")).json()["args"]["tests_repo"] == REPOSITORY


async def test_only_what_an_unfinished_mirrored_run_needs_is_given(api: Api) -> None:
    await api.submitted(BORIS)
    assert (await api.get(PLACE)).status_code == 404
    run_id = await api.submitted(BORIS, mirrored=True)
    assert (await api.get(PLACE)).status_code == 200
    assert (await api.get(PLACE.replace("aaaa", "cccc"))).status_code == 404
    await api.post(f"/api/v1/runs/{run_id}/stop", BORIS)
    assert (await api.get(PLACE)).status_code == 404


async def test_a_source_that_cannot_be_had_is_a_fault_of_the_submission(api: Api) -> None:
    wish = body(mirrored=True, resolved_base="0" * 40)
    answer = await api.post("/api/v1/runs", BORIS, wish)
    assert answer.status_code == 400
    assert "tests_repo: there is no such commit" in answer.text


async def test_a_private_engines_source_is_for_its_team_alone(api: Api, packed: Packed) -> None:
    await make_strix(api)
    await api.submitted(OLGA, **OF_STRIX, mirrored=True)
    assert (await api.get(PLACE)).status_code == 404
    assert (await api.get(PLACE, SVEN)).status_code == 404
    assert await as_machine(api, SVEN) == 404
    assert await as_machine(api, OLGA) == 200
    assert (await api.get(PLACE, OLGA)).status_code == 200


async def test_a_record_opens_nothing_with_the_servers_credentials(
    api: Api, packed: Packed
) -> None:
    await make_strix(api)
    await api.submitted(OLGA, **OF_STRIX, mirrored=True)
    assert {known for _, _, known in packed.asked} == {False}


async def test_what_is_granted_to_a_team_is_opened_for_its_members_alone(
    api: Api, packed: Packed
) -> None:
    await make_strix(api)
    wish: Json = {"repository": f"{REPOSITORY}.git/", "team": "owls"}
    refused = await api.post("/api/v1/repositories", OLGA, wish)
    assert (refused.status_code, packed.asked) == (403, [])
    assert (await api.post("/api/v1/repositories", BORIS, wish)).status_code == 201
    await api.submitted(OLGA, **OF_STRIX, tests_repo=None, mirrored=True)
    assert packed.asked[0] == (REPOSITORY, "a" * 40, True)
    packed.asked.clear()
    await api.submitted(SVEN, mirrored=True)
    assert packed.asked[0] == (REPOSITORY, "a" * 40, False)
    packed.asked.clear()
    headers = dict(await api.headers(BORIS))
    query = {"repository": REPOSITORY, "team": "owls"}
    gone = await api.visitor.delete("/api/v1/repositories", params=query, headers=headers)
    assert gone.status_code == 200
    await api.submitted(OLGA, **OF_STRIX, mirrored=True)
    assert packed.asked[0] == (REPOSITORY, "a" * 40, False)


async def test_the_source_of_a_run_that_waits_is_for_its_people_alone(api: Api) -> None:
    run_id = await api.submitted(OLGA, mirrored=True)
    assert (await api.get(PLACE)).status_code == 404
    assert (await api.get(PLACE, SVEN)).status_code == 404
    assert await as_machine(api, SVEN) == 404
    assert (await api.get(PLACE, OLGA)).status_code == 200
    assert (await api.get(PLACE, BORIS)).status_code == 200
    await api.post(f"/api/v1/runs/{run_id}/approve", BORIS)
    assert (await api.get(PLACE)).status_code == 200


@pytest.mark.parametrize(
    "place", ["/api/v1/runs/{}", "/api/get_run/{}", "/api/active_runs", "/runs/{}"]
)
async def test_commits_of_a_run_that_waits_are_told_to_its_people_alone(
    api: Api, place: str
) -> None:
    words = {"msg_new": "Prune what only we know\n\nBench: 1234567", "info": ""}
    run_id = await api.submitted(OLGA, **words)
    shown = (await api.get(place.format(run_id), SVEN)).text
    assert "what only we know" not in shown
    assert "a" * 10 not in shown
    if place.startswith("/api"):
        told = (await api.get(place.format(run_id), OLGA)).text
        assert "what only we know" in told
        assert "a" * 40 in told
    await api.post(f"/api/v1/runs/{run_id}/approve", BORIS)
    assert "what only we know" in (await api.get(place.format(run_id))).text


async def test_a_worker_token_fetches_what_its_owner_may(api: Api) -> None:
    await make_strix(api)
    await api.submitted(OLGA, **OF_STRIX, mirrored=True)
    token = await api.token(OLGA, frozenset({Scope.WORKER}))
    headers = {"authorization": f"Bearer {token}"}
    assert (await api.visitor.get(PLACE, headers=headers)).status_code == 200


async def test_a_stranger_makes_the_server_show_itself_to_nobody(api: Api, packed: Packed) -> None:
    await make_strix(api)
    await api.submitted(SVEN, mirrored=True)
    assert packed.asked[0] == (REPOSITORY, "a" * 40, False)


async def test_a_private_engines_program_is_for_its_team_alone(api: Api) -> None:
    await make_strix(api)
    headers = dict(await api.headers(OLGA))
    given = await api.visitor.post("/api/v1/binaries", content=b"#!program", headers=headers)
    sha256 = given.json()["sha256"]
    place = f"/api/binary/{sha256}"
    assert (await api.get(place)).status_code == 200
    await api.submitted(OLGA, **OF_STRIX, new_binary=sha256)
    assert (await api.get(place)).status_code == 404
    assert await as_machine(api, SVEN, place) == 404
    assert await as_machine(api, OLGA, place) == 200
    refused = await api.post("/api/v1/runs", SVEN, body(new_binary=sha256))
    assert "new_binary: no program of this hash" in refused.text


@pytest.mark.parametrize("shown", ["Basic !!!", "Basic b2xnYTp3cm9uZw==", "Bearer no", "Odd x"])
async def test_what_does_not_count_is_told_so_whatever_is_asked_for(api: Api, shown: str) -> None:
    await make_strix(api)
    await api.submitted(OLGA, **OF_STRIX, mirrored=True)
    for place in (PLACE, PLACE.replace("aaaa", "cccc")):
        answer = await api.visitor.get(place, headers={"authorization": shown})
        assert answer.status_code == 401
