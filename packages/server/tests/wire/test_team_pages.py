"""Teams by pages: made, joined, led, left."""

import pytest

from rookery.core.model.actor import Actor
from tests.people import BORIS, SVEN
from tests.wire.apis import open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_user_pages import browser_of, send

pytestmark = pytest.mark.anyio


async def test_a_team_is_made_joined_led_and_left() -> None:
    async with open_api() as api:
        await with_password(api, SVEN)
        sven = await browser_of(api, SVEN)
        refused = await send(sven, "/teams", name="a b")
        assert refused.status_code == 400
        assert 'value="a b"' in refused.text
        made = await send(sven, "/teams", name="owls")
        assert made.headers["location"] == "/teams/owls"
        assert (await send(sven, "/teams", name="owls")).status_code == 400
        refused = await send(sven, "/teams/owls/add", user="nobody")
        assert 'id="user-error">There is no user named nobody.' in refused.text
        assert 'value="nobody"' in refused.text
        await send(sven, "/teams/owls/leave")
        assert "name another lead first" in (await sven.get("/teams/owls")).text
        await send(sven, "/teams/owls/add", user="olga", lead="1")
        assert (await send(sven, "/teams/owls/leave")).headers["location"] == "/teams"
        assert api.site.teams.by_name("owls", Actor("olga")).leads == ("olga",)
        assert (await sven.get("/teams/owls")).status_code == 404


async def test_approvers_know_of_every_team_and_others_of_their_own() -> None:
    async with open_api() as api:
        for user in (SVEN, BORIS):
            await with_password(api, user)
        boris, sven = await browser_of(api, BORIS), await browser_of(api, SVEN)
        await send(boris, "/teams", name="owls")
        assert "owls" not in (await sven.get("/teams")).text
        await send(sven, "/teams", name="bats")
        assert "bats" in (await boris.get("/teams")).text
