"""What this server is, for everybody and for approvers."""

from dataclasses import replace

import pytest

from rookery.farm.instances import Instance, InstanceFigures
from tests.people import BORIS, OLGA
from tests.wire.apis import open_api
from tests.wire.test_machines_pages import enter

pytestmark = pytest.mark.anyio


async def test_everybody_sees_a_summary_and_no_inner_figures() -> None:
    async with open_api() as api:
        await enter(api, OLGA)
        page = (await api.visitor.get("/server")).text
        assert "ready" in page
        assert "Threads" not in page
        assert "/metrics" not in page


async def test_an_approver_sees_jobs_limits_and_queues() -> None:
    async with open_api() as api:
        await enter(api, BORIS)
        page = (await api.visitor.get("/server")).text
        for words in ("GitHub&#39;s rate limit", "Group commits", "Gate: request_task"):
            assert words in page


async def test_approvers_alone_see_the_servers_on_the_database_and_who_is_silent() -> None:
    async with open_api() as api:
        now = api.site.clock.now()
        figures = InstanceFigures(commits_behind=12)
        first = Instance("farm-1", "http://10.0.0.1:8000", "0.1", 4, "primary", now, figures)
        await api.site.instances.put(first)
        await api.site.instances.put(replace(first, name="farm-2", silent_seconds=60.0))
        await enter(api, BORIS)
        page = (await api.visitor.get("/server")).text
        for words in ("farm-1", "http://10.0.0.1:8000", "silent for", "Commits behind"):
            assert words in page
    async with open_api() as api:
        await api.site.instances.put(first)
        await enter(api, OLGA)
        assert "farm-1" not in (await api.visitor.get("/server")).text
