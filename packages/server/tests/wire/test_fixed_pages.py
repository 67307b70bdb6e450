"""Pages that are expensive and the same for every visitor are rendered once for all of them."""

from collections.abc import AsyncIterator

import pytest

from tests.people import BORIS
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_login import log_in

pytestmark = pytest.mark.anyio

FIXED = ("/docs/operate", "/api", "/sprt?elo1=3", "/sprt?elo1=3&part=1")


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


@pytest.mark.parametrize("path", FIXED)
async def test_an_expensive_page_is_rendered_once_for_all_visitors(api: Api, path: str) -> None:
    first, again = [await api.visitor.get(path) for _ in range(2)]
    assert first.status_code == 200
    assert again.text == first.text
    assert api.site.shared_parts.renderings == 1


async def test_other_figures_are_another_page(api: Api) -> None:
    one, two = [await api.visitor.get(f"/sprt?elo1={elo}") for elo in (3, 4)]
    assert one.text != two.text


async def test_a_visitor_without_gzip_reads_the_same_page(api: Api) -> None:
    packed, plain = [
        await api.visitor.get("/docs/operate", headers={"accept-encoding": each})
        for each in ("gzip", "identity")
    ]
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == plain.text


async def test_whoever_is_logged_in_reads_their_own_page(api: Api) -> None:
    await api.visitor.get("/docs/operate")
    await with_password(api, BORIS)
    await log_in(api.visitor, username="boris")
    assert "boris" in (await api.visitor.get("/docs/operate")).text
    api.visitor.cookies.clear()
    assert "boris" not in (await api.visitor.get("/docs/operate")).text
