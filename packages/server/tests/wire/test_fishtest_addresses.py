"""The addresses of fishtest's pages lead to ours, with what they filter by."""

import pytest

from tests.twins.sites import open_site

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("/tests/finished", "/tests"),
        ("/tests/finished?success_only=1&page=3", "/tests?result=passed&page=3"),
        ("/tests/finished?yellow_only=1&ltc_only=1", "/tests?result=positive&long=1"),
        ("/tests/finished?success_only=0", "/tests"),
        ("/tests/user/ada?page=2", "/tests?user=ada&page=2"),
        ("/tests/machines", "/machines"),
        ("/workers/ada-8cores-1234abcd", "/machines/ada-8cores-1234abcd"),
        ("/actions?user=ada&action=stop_run&text=x", "/log?action=stop_run&user=ada&text=x"),
        ("/actions?run_id=0123", "/log?run=0123"),
        ("/contributors/monthly", "/contributors?period=month"),
        ("/nns?network_name=nn-1&user=", "/nets?text=nn-1"),
        ("/nns?network_name=nn-1&user=ada", "/nets?text=nn-1&user=ada"),
        ("/user", "/profile"),
        ("/user/ada", "/users/ada"),
        ("/user_management", "/users?state=pending"),
        ("/user_management/pending_count", "/users?state=pending"),
        ("/rate_limits", "/server#limits"),
        ("/rate_limits/server", "/api/rate_limit"),
        ("/tests/live_elo_update/0123", "/api/get_elo/0123"),
        ("/tests/view/0123/detail", "/runs/0123"),
        ("/tests/view/0123?show_task=117", "/runs/0123/tasks?sort=task&page=3#task-117"),
        ("/tests/view/0123?show_task=-1", "/runs/0123"),
    ],
)
async def test_an_old_address_leads_to_ours(there: str, here: str) -> None:
    async with open_site() as site:
        answer = await site.browser.get(there)
        assert (answer.status_code, answer.headers["location"]) == (302, here)
