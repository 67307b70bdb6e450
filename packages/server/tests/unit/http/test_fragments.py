"""Parts that many watch are made once per change, and nobody is shown an older one."""

import asyncio
from collections.abc import Hashable

import pytest

from rookery.server.http import fragments
from rookery.server.http.fragments import RenderedPart, SharedParts, make_event
from rookery.server.http.turns import Turns
from tests.fakes import HandClock

pytestmark = pytest.mark.anyio


class Watched:
    """Something that changes, and how often it was rendered."""

    def __init__(self) -> None:
        self.position = 1
        self.rendered = 0

    async def render(self) -> RenderedPart:
        self.rendered += 1
        await asyncio.sleep(0)
        return RenderedPart(str(self.position), b"")


async def find_key() -> Hashable:
    """All may see the same."""
    return "key"


class Viewer:
    """Somebody who may see more from some moment on, also while their part is made."""

    def __init__(self) -> None:
        self.sight = "outside"

    async def find_key(self) -> Hashable:
        return self.sight

    async def render(self) -> RenderedPart:
        await asyncio.sleep(0)
        return RenderedPart(self.sight, b"")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    """Its second passes whenever somebody waits for one."""
    hand = HandClock()

    async def sleep(seconds: float) -> None:
        hand.move(seconds=seconds)

    monkeypatch.setattr("rookery.server.http.fragments.asyncio.sleep", sleep)
    return hand


async def test_all_who_ask_at_once_share_one() -> None:
    parts, it = SharedParts(HandClock(), Turns()), Watched()
    asked = (parts.find_newest(find_key, lambda: it.position, it.render) for _ in range(100))
    found = await asyncio.gather(*asked)
    assert {part.text for part in found} == {"1"}
    assert it.rendered == 1


async def test_what_has_not_changed_is_not_made_again_until_its_times_are_old() -> None:
    clock, it = HandClock(), Watched()
    parts = SharedParts(clock, Turns())
    for seconds, rendered in ((0, 1), (4, 1), (2, 2)):
        clock.move(seconds=seconds)
        await parts.find_newest(find_key, lambda: it.position, it.render)
        assert it.rendered == rendered


async def test_after_a_change_the_newest_is_waited_for(clock: HandClock) -> None:
    parts, it, began = SharedParts(clock, Turns()), Watched(), clock.seconds()
    await parts.find_newest(find_key, lambda: it.position, it.render)
    it.position = 2
    found = await parts.find_newest(find_key, lambda: it.position, it.render)
    assert found.text == "2"
    assert clock.seconds() - began == fragments.LEAST_SECONDS


async def test_a_page_that_is_opened_waits_for_nothing() -> None:
    clock, it = HandClock(), Watched()
    parts = SharedParts(clock, Turns())
    await parts.find_recent(find_key, lambda: it.position, it.render)
    it.position = 2
    assert (await parts.find_recent(find_key, lambda: it.position, it.render)).text == "1"
    clock.move(seconds=1)
    assert (await parts.find_recent(find_key, lambda: it.position, it.render)).text == "2"


async def test_who_changed_something_sees_it_at_once() -> None:
    parts, it = SharedParts(HandClock(), Turns()), Watched()
    await parts.find_recent(find_key, lambda: it.position, it.render)
    it.position = 2
    parts.forget("key")
    assert (await parts.find_recent(find_key, lambda: it.position, it.render)).text == "2"


async def test_who_opens_a_page_while_the_next_part_is_made_is_shown_the_last() -> None:
    clock, it = HandClock(), Watched()
    parts = SharedParts(clock, Turns())
    await parts.find_recent(find_key, lambda: it.position, it.render)
    it.position = 2
    clock.move(seconds=1)
    making = asyncio.ensure_future(parts.find_recent(find_key, lambda: it.position, it.render))
    await asyncio.sleep(0)
    assert (await parts.find_recent(find_key, lambda: it.position, it.render)).text == "1"
    assert (await making).text == "2"


async def test_a_viewer_whose_sight_changes_meanwhile_shows_it_to_nobody_else() -> None:
    parts, insider, stranger = SharedParts(HandClock(), Turns()), Viewer(), Viewer()
    both = asyncio.gather(
        parts.find_newest(insider.find_key, lambda: 1, insider.render),
        parts.find_newest(stranger.find_key, lambda: 1, stranger.render),
    )
    await asyncio.sleep(0)
    insider.sight = "inside"
    assert [part.text for part in await both] == ["inside", "outside"]
    later = await parts.find_recent(stranger.find_key, lambda: 1, stranger.render)
    assert later.text == "outside"


async def test_a_viewer_who_may_see_nothing_any_more_ends_it_for_nobody_else() -> None:
    parts, member, gone = SharedParts(HandClock(), Turns()), Viewer(), Viewer()

    async def fail() -> RenderedPart:
        gone.sight = "nothing"
        raise LookupError

    both = asyncio.gather(
        parts.find_newest(gone.find_key, lambda: 1, fail),
        parts.find_newest(member.find_key, lambda: 1, member.render),
        return_exceptions=True,
    )
    refused, shown = await both
    assert isinstance(refused, LookupError)
    assert isinstance(shown, RenderedPart)
    assert shown.text == "outside"


def test_a_part_of_several_lines_is_one_event() -> None:
    assert make_event("<p>a\r\nb\rc</p>\n") == (
        b"event: part\ndata: <p>a\ndata: b\ndata: c</p>\ndata: \n\n"
    )
