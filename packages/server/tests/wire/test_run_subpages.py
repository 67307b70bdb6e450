"""The pages of a run beside its overview, for runs in every state."""

import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from rookery.server.sources.diffs import Diffs
from rookery.server.sources.survey import SourcePlace
from tests.fakes import HandClock
from tests.makers import run_id
from tests.pages.rows import filled
from tests.twins.farm import MemoryStore
from tests.twins.farm_commits import MemoryRows
from tests.twins.sites import OpenSite, make_site, open_site

pytestmark = pytest.mark.anyio


class FixedDiff:
    def diff(self, new: SourcePlace, base: SourcePlace) -> str:
        del new, base
        return "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+<b>\n"


NO_NUMBER = re.compile(r"\b(nan|inf|None|Infinity)\b")
PAGES = ("", "/live", "/elo", "/elo/live", "/games", "/tasks", "/stats", "/compare")
GAME = (
    '[Event "x"]\n[White "New-idea"]\n[Black "Base-master"]\n[Result "1-0"]\n'
    '[Termination "time forfeit"]\n\n1. Nf3 {+0.10/9 0.1s} d5 {<script>alert(1)</script>} 1-0\n\n'
)
PLAYED = run_id("late-move-pruning")


@pytest.fixture(scope="module")
def rows() -> MemoryRows:
    """Made before the loop turns; no test changes them."""
    return filled(HandClock().now())


@asynccontextmanager
async def opened(rows: MemoryRows) -> AsyncIterator[OpenSite]:
    async with open_site(make_site(clock=HandClock(), store=MemoryStore(rows))) as found:
        yield found


async def read(site: OpenSite, path: str) -> str:
    answer = await site.browser.get(path)
    assert answer.status_code == 200, f"{path}: {answer.text}"
    return answer.text


async def test_no_page_of_a_run_in_any_state_shows_what_is_no_number(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        for run in rows.runs:
            for page in PAGES:
                text = re.sub(r"<[^>]*>", " ", await read(site, f"/runs/{run}{page}"))
                assert not NO_NUMBER.search(text), f"/runs/{run}{page}"


async def test_tasks_are_searched_and_sorted_by_their_address(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        found = await read(site, f"/runs/{PLAYED}/tasks?text=ada&sort=games")
        assert "ada-16cores" in found
        assert "bob-8cores" not in found
        assert 'aria-sort="ascending"' in found
        assert "No matching tasks." in await read(site, f"/runs/{PLAYED}/tasks?text=%25")


@pytest.mark.parametrize("query", ["page=0", "page=x", "sort=x;drop", "state=x", "state=differing"])
async def test_a_list_of_tasks_takes_any_address(rows: MemoryRows, query: str) -> None:
    async with opened(rows) as site:
        await read(site, f"/runs/{PLAYED}/tasks?{query}")


async def test_a_game_is_shown_by_its_moves_and_tells_when_they_are_gone(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        task = rows.tasks[PLAYED, 0]
        await site.parts.games.upload(task, gzip.compress(GAME.encode() * 2))
        listed = await read(site, f"/runs/{PLAYED}/games")
        assert "How 2 games ended" in listed
        assert "lost on time" in listed
        here = f"/runs/{PLAYED}/games/0/1"
        assert f'href="{here}"' in listed
        shown = await read(site, here)
        assert '<span class="san">Nf3</span>' in shown
        assert 'rel="prev"' in shown
        assert 'rel="next"' not in shown
        assert 'rel="next"' in await read(site, f"/runs/{PLAYED}/games/0/0")
        assert '<code class="wrap">Nf3 d5</code>' in listed
        assert "From 2 games of the latest uploads." in listed
        assert "&lt;script&gt;" in shown
        assert (await site.browser.get(f"/runs/{PLAYED}/games/0/2")).status_code == 404
        await site.parts.games.rows.forget([each.blob for each in site.parts.pgns.rows])
        assert "Their results are kept." in await read(site, f"/runs/{PLAYED}/games")
        assert "The moves of this game have been deleted" in await read(site, here)


async def test_the_course_of_a_tune_is_told_and_of_others_none(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        course = await site.browser.get(f"/api/v1/runs/{run_id('tune-search')}/tune")
        first = course.json()["parameters"][0]
        assert (first["name"], len(first["path"])) == ("A", len(course.json()["iterations"]))
        assert (await site.browser.get(f"/api/v1/runs/{PLAYED}/tune")).status_code == 404


async def test_the_points_of_the_charts_come_as_a_table(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        head, *lines = (await read(site, f"/runs/{PLAYED}/samples.csv")).splitlines()
        assert head == "time,games,p0,p1,p2,p3,p4,llr,cores,nps"
        assert len(lines) == len(rows.samples[PLAYED])
        assert {line.count(",") for line in lines} == {head.count(",")}


async def test_the_change_is_shown_inline_or_linked(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        path = f"/runs/{PLAYED}/diff"
        assert "nobody is outside" in await read(site, path)
        site.parts.diffs = Diffs(FixedDiff(), site.parts.threads, site.parts.clock)
        shown = await read(site, path)
        assert "<title>Diff of late-move-pruning" in shown
        part = await read(site, f"{path}?part=1")
        assert part.lstrip().startswith('<pre class="diff"')
        assert '<span class="added">+&lt;b&gt;' in shown
        assert '<span class="file">diff --git a/x b/x' in shown
        hidden = await read(site, f"/runs/{run_id('idea')}/diff")
        assert "until it is approved" in hidden
        assert "&lt;b&gt;" not in hidden


async def test_a_run_is_judged_by_other_bounds_and_beside_another(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        here = f"/runs/{PLAYED}/compare"
        text = await read(
            site, f"{here}?elo0=-20&elo1=-10&with=https://x/runs/{run_id('razoring')}"
        )
        assert "It would have passed after about" in text
        assert "The first is ahead by" in text
        assert 'data-figure="{' in text
        wrong = await read(site, f"{here}?elo0=5&elo1=x&with=nothing")
        assert "Enter a number." in wrong
        assert "There is no such test." in wrong
        assert "must exceed" in await read(site, f"{here}?elo0=5&elo1=1")


async def test_related_runs_are_proposed_for_a_comparison(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        again = replace(rows.runs[PLAYED], id=run_id("again"))
        rows.runs[again.id] = again
        try:
            text = await read(site, f"/runs/{again.id}/compare")
        finally:
            del rows.runs[again.id]
        assert f'href="/runs/{again.id}/compare?with={PLAYED}"' in text
        assert run_id("razoring") not in text


async def test_events_and_errors_of_a_run_are_a_click_away(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        text = await read(site, f"/runs/{PLAYED}")
        assert f'href="/log?run={PLAYED}"' in text
        assert f'href="/errors?run={PLAYED}"' in text
        assert 'data-life="approved"' in text


async def test_the_statistics_have_every_figure_behind_the_verdict(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        text = await read(site, f"/runs/{PLAYED}/stats")
        for word in ("Normalised Elo", "LLR, logistic", "Skewness", "Variance ratio", "Draw Elo"):
            assert word in text


async def test_the_official_servers_addresses_lead_to_ours(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        for old, new in (("tasks", "tasks"), ("stats", "stats"), ("live_elo", "elo")):
            answer = await site.browser.get(f"/tests/{old}/{PLAYED}")
            assert answer.headers["location"] == f"/runs/{PLAYED}/{new}"
