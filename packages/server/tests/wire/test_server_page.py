"""What this server is, for everybody and for approvers."""

from dataclasses import replace
from datetime import timedelta

import pytest

from rookery.server.app.jobs import look_at_owner
from rookery.server.servers.instances import Instance, InstanceFigures, StepDown
from tests.people import BORIS, OLGA
from tests.twins.instances import SharedLease
from tests.twins.records import MemoryInstances
from tests.wire.apis import Api, open_api
from tests.wire.test_login import token_in
from tests.wire.test_machines_pages import enter

pytestmark = pytest.mark.anyio


async def test_everybody_sees_a_summary_and_no_inner_figures() -> None:
    async with open_api() as api:
        await enter(api, OLGA)
        page = (await api.visitor.get("/server")).text
        assert "ready" in page
        assert "30 in 10 min per address, 6 in 5 min per name" in page
        assert "Calls to GitHub" in page
        assert "Threads" not in page
        assert "/metrics" not in page


async def test_what_github_allows_is_not_told_to_strangers() -> None:
    async with open_api() as api:
        page = (await api.visitor.get("/server")).text
        assert "Wrong passwords" in page
        assert "Calls to GitHub" not in page


async def test_an_approver_sees_jobs_limits_and_queues() -> None:
    async with open_api() as api:
        await enter(api, BORIS)
        page = (await api.visitor.get("/server")).text
        for words in ("Group commits", "Gate: request_task"):
            assert words in page


class TheirMark:
    """The mark of another database."""

    def read(self) -> str:
        return "theirs"

    def write(self, owner: str) -> None:
        raise AssertionError(owner)


async def test_an_approver_sees_that_the_files_are_those_of_another_database() -> None:
    async with open_api() as api:
        api.site.file_owners.add("/mnt/farm", TheirMark())
        await look_at_owner(api.site)
        await enter(api, BORIS)
        page = (await api.visitor.get("/server")).text
        assert "The files in /mnt/farm belong to another database (theirs)" in page


async def test_approvers_alone_see_the_servers_on_the_database_and_who_is_silent() -> None:
    async with open_api() as api:
        now = api.site.clock.now()
        figures = InstanceFigures(commits_behind=12, clock_off_seconds=600.0)
        first = Instance("farm-1", "http://10.0.0.1:8000", "0.1", 4, "primary", now, figures)
        await api.site.instances.put(first)
        await api.site.instances.put(replace(first, name="farm-2", silent_seconds=60.0))
        await enter(api, BORIS)
        page = (await api.visitor.get("/server")).text
        for words in (
            "farm-1",
            "http://10.0.0.1:8000",
            "silent for",
            "Commits behind",
            "600 s ahead",
        ):
            assert words in page
    async with open_api() as api:
        await api.site.instances.put(first)
        await enter(api, OLGA)
        assert "farm-1" not in (await api.visitor.get("/server")).text


async def press_make_primary(api: Api, to: str) -> tuple[str, list[StepDown]]:
    """What an approver is told after the button beside a server, and what the primary is asked;
    "primary" holds the lease, and farm-2 stands by."""
    instances = api.site.instances
    assert isinstance(instances, MemoryInstances)
    api.site.read_lease = SharedLease("http://10.0.0.1:8000").read
    first = Instance("primary", "", "0.1", 4, "primary", api.site.clock.now(), InstanceFigures())
    await instances.put(first)
    await instances.put(replace(first, name="farm-2", role="secondary"))
    await enter(api, BORIS)
    page = await api.visitor.get("/server")
    form = {"csrf_token": token_in(page), "to": to}
    assert (await api.visitor.post("/server/primary", data=form)).status_code == 302
    return (await api.visitor.get("/server")).text, instances.asked


async def test_a_secondary_tells_how_old_the_primary_s_figures_are() -> None:
    async with open_api() as api:
        assert "as of" not in (await api.visitor.get("/server")).text
        api.site.fleet.activity.since = api.clock.now() - timedelta(seconds=4)
        assert "as of 4 s ago" in (await api.visitor.get("/server")).text


async def test_an_approver_makes_another_server_primary() -> None:
    async with open_api() as api:
        page, asked = await press_make_primary(api, "farm-2")
        assert asked == [StepDown("primary", "farm-2")]
        assert "primary was asked to let farm-2 be primary." in page


async def test_a_server_that_is_not_there_is_not_made_primary() -> None:
    async with open_api() as api:
        page, asked = await press_make_primary(api, "farm-9")
        assert asked == []
        assert "There is no server farm-9; the other servers are: farm-2." in page


async def test_approvers_read_how_a_server_does_and_its_build() -> None:
    async with open_api() as api:
        api.site.version = "0.1+gabc"
        headers = dict(await api.headers(BORIS))
        told = (await api.visitor.get("/api/v1/server", headers=headers)).json()
        assert (told["version"], told["role"]) == ("0.1+gabc", "primary")
        assert (told["sign_up"], told["backup_age_seconds"]) == (True, None)
        ready = await api.visitor.get("/readyz", headers=headers)
        assert ready.json()["version"] == "0.1+gabc"


async def test_a_probe_tells_others_nothing_of_the_build_whatever_they_show() -> None:
    async with open_api() as api:
        shown: tuple[dict[str, str], ...] = (
            {},
            dict(await api.headers(OLGA)),
            {"authorization": "Bearer none"},
        )
        for headers in shown:
            ready = await api.visitor.get("/readyz", headers=headers)
            assert (ready.status_code, "version" in ready.json()) == (200, False)
