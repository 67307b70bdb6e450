"""What this server is, for everybody and for approvers."""

import pytest

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
