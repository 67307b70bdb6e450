"""What an approver should know: gathered by a job, told to a run's people alone."""

from dataclasses import dataclass, field, replace

import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.server.farm.rules.review import UNREAD, SourceFacts
from rookery.server.identity.users import APPROVERS
from rookery.server.runs.hints import HintReader
from rookery.server.sources.commits import SourceError
from rookery.server.sources.reviews import AGAIN_SECONDS, RUNS_AT_A_TIME
from rookery.server.sources.survey import MainCommit, NetPattern, SourcePlace
from tests.makers import make_plan, make_run, sprt
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import PLAIN
from tests.twins.sites import make_user, open_site
from tests.wire.apis import Api, open_api
from tests.wire.test_login import log_in

pytestmark = pytest.mark.anyio

APPROVER, OWNER, STRANGER = Actor("boris", approver=True), Actor("olga"), Actor("sven")


@dataclass(slots=True)
class KnownSources:
    """Says the same of all sources."""

    facts: SourceFacts | None
    asked: list[SourcePlace] = field(default_factory=list)

    def compare(
        self, main: SourcePlace, new: SourcePlace, base: SourcePlace, nets: NetPattern
    ) -> SourceFacts:
        self.asked += [main, new, base]
        assert nets.pattern
        if self.facts is None:
            raise SourceError("nobody answers")
        return self.facts

    def list_main(self, main: SourcePlace) -> tuple[MainCommit, ...]:
        raise SourceError(main.repository)

    def find_tree(self, place: SourcePlace) -> str:
        raise SourceError(place.repository)

    def read_file(self, main: SourcePlace, path: str) -> str:
        raise SourceError(main.repository + path)

    def forget_scratch(self, before: float) -> None:
        """There is none."""


async def told(api: Api, viewer: Actor | None, run_id: str) -> str | None:
    run = await api.fleet.views.known_run(run_id)
    hints = HintReader(api.site.privacy, api.site.reviews, api.site.engines)
    found = (await hints.load(viewer, [run])).get(run_id)
    return None if found is None else " ".join(hint.text for hint in found)


async def reviewed(api: Api, facts: SourceFacts | None) -> tuple[str, KnownSources]:
    sources = KnownSources(facts)
    api.site.reviews.surveyor = sources
    run_id = await api.submitted(OLGA)
    await api.site.reviews.look_at_unfinished()
    return run_id, sources


async def test_a_waiting_run_is_looked_at_once_and_told_to_its_people_alone() -> None:
    async with open_api() as api:
        facts = SourceFacts(ancestor=False, nets=("nn-0123456789ab.nnue",))
        run_id, sources = await reviewed(api, facts)
        await api.site.reviews.look_at_unfinished()
        assert [place.repository for place in sources.asked] == [
            "https://github.com/official-stockfish/Stockfish",
            PLAIN["tests_repo"],
            PLAIN["tests_repo"],
        ]
        for viewer in (APPROVER, OWNER):
            text = await told(api, viewer, run_id) or ""
            assert "not an ancestor" in text
            assert "not kept here: nn-0123456789ab.nnue" in text
            assert "first test of olga" in text
        assert await told(api, STRANGER, run_id) is None
        assert await told(api, None, run_id) is None


async def test_an_approvers_own_run_is_looked_at_once_though_it_plays_already() -> None:
    async with open_api() as api:
        sources = api.site.reviews.surveyor = KnownSources(SourceFacts(ancestor=False))
        run_id = await api.submitted(BORIS)
        assert (await api.fleet.views.known_run(run_id)).status.approved
        assert UNREAD.text in (await told(api, APPROVER, run_id) or "")
        await api.site.reviews.look_at_unfinished()
        text = await told(api, APPROVER, run_id) or ""
        assert "not an ancestor" in text
        assert UNREAD.text not in text
        # The next process knows it by the row.
        await replace(api.site.reviews, _looked={}).look_at_unfinished()
        assert len(sources.asked) == 3


async def test_what_was_read_is_kept_when_it_cannot_be_read_again() -> None:
    async with open_api() as api:
        run_id, sources = await reviewed(api, SourceFacts(ancestor=False))
        sources.facts = None
        api.clock.move(seconds=AGAIN_SECONDS)
        await api.site.reviews.look_at_unfinished()
        assert len(sources.asked) == 6
        text = await told(api, APPROVER, run_id) or ""
        assert "not an ancestor" in text
        assert "could not be looked at" not in text


async def test_runs_that_wait_are_looked_at_before_those_that_play() -> None:
    async with open_api() as api:
        api.site.reviews.surveyor = KnownSources(SourceFacts(ancestor=True))
        playing = [await api.submitted(BORIS) for _ in range(RUNS_AT_A_TIME)]
        waiting = await api.submitted(OLGA)
        await api.site.reviews.look_at_unfinished()
        known = await api.site.reviews.load([*playing, waiting])
        assert waiting in known
        assert len(known) == RUNS_AT_A_TIME


async def test_whoever_watches_a_run_is_told_when_its_sources_were_read() -> None:
    async with open_api() as api:
        api.site.reviews.surveyor = KnownSources(SourceFacts(ancestor=True))
        run_id = await api.submitted(OLGA)
        before = api.site.bus.last_change(run_id)
        await api.site.reviews.look_at_unfinished()
        assert api.site.bus.last_change(run_id) > before


async def test_sources_that_nobody_answers_for_are_told_as_such() -> None:
    async with open_api() as api:
        run_id, _ = await reviewed(api, None)
        assert "could not be looked at: nobody answers" in (await told(api, APPROVER, run_id) or "")


async def test_before_the_job_came_by_the_run_itself_is_judged() -> None:
    async with open_api() as api:
        run_id = await api.submitted(OLGA, priority=5)
        assert "Priority 5" in (await told(api, APPROVER, run_id) or "")


async def test_the_moving_part_of_a_runs_page_tells_its_people_alone() -> None:
    run = make_run("a", make_plan(owner="olga", priority=5), sprt(), approved=True)
    async with open_site() as site:
        await site.parts.fleet.commands.submit(replace(run, created=site.parts.clock.now()))
        user = await make_user(site.parts)
        await site.parts.users.save(replace(user, groups=frozenset({APPROVERS})))
        part = f"/runs/{run.id}/live"
        assert "Priority 5" not in (await site.browser.get(part)).text
        await log_in(site.browser)
        shown = (await site.browser.get(part)).text
        assert "Priority 5" in shown
        assert UNREAD.text in shown
        site.browser.cookies.clear()
        assert "Priority 5" not in (await site.browser.get(part)).text


async def test_after_the_approval_hints_stay_folded_for_the_runs_people() -> None:
    run = make_run("a", make_plan(owner="olga", priority=5), sprt(), approved=True)
    async with open_site() as site:
        await site.parts.fleet.commands.submit(replace(run, created=site.parts.clock.now()))
        assert "Priority 5" not in (await site.browser.get(f"/runs/{run.id}")).text
        user = await make_user(site.parts)
        await site.parts.users.save(replace(user, groups=frozenset({APPROVERS})))
        await log_in(site.browser)
        shown = (await site.browser.get(f"/runs/{run.id}")).text
        assert '<details class="review">' in shown
        assert "Priority 5" in shown


async def test_nets_are_told_apart_and_not_checked_where_they_come_from_elsewhere() -> None:
    async with open_api() as api:
        facts = SourceFacts(base_nets=("nn-0123456789ab.nnue",))
        run_id, _ = await reviewed(api, facts)
        assert "not kept here: nn-0123456789ab.nnue" in (await told(api, OWNER, run_id) or "")
        api.site.reviews.nets_elsewhere = True
        run_id, _ = await reviewed(api, facts)
        text = await told(api, OWNER, run_id) or ""
        assert "Nets were not checked" in text
        assert "not kept here" not in text


async def test_who_names_a_net_of_anothers_private_engine_is_told_that_it_is_not_here() -> None:
    async with open_api() as api:
        await api.site.teams.create("owls", Actor("sven"))
        record = EngineRecord(name="owls~Strix", team="owls", private=True)
        await api.site.engines.put(record, Actor("sven"))
        place, headers = f"/api/v1/nets?engine={record.name}&name=", await api.headers(SVEN)
        given = await api.visitor.post(place, content=b"a net", headers=dict(headers))
        net = str(given.json()["name"])
        run_id, _ = await reviewed(api, SourceFacts(nets=(net,)))
        text = await told(api, OWNER, run_id) or ""
        assert f"not kept here: {net}." in text
        assert "private" not in text


async def test_the_start_page_tells_approvers_what_to_look_at_and_nobody_else() -> None:
    waiting = make_run("a", make_plan(owner="olga", priority=5), sprt(), approved=False)
    async with open_site() as site:
        await site.parts.fleet.commands.submit(replace(waiting, created=site.parts.clock.now()))
        assert "Priority 5" not in (await site.browser.get("/")).text
        user = await make_user(site.parts)
        await site.parts.users.save(replace(user, groups=frozenset({APPROVERS})))
        await log_in(site.browser)
        assert "Priority 5" in (await site.browser.get("/")).text


async def test_the_start_page_tells_approvers_whether_the_sources_were_read() -> None:
    waiting = make_run("a", make_plan(owner="olga"), sprt(), approved=False)
    async with open_site() as site:
        await site.parts.fleet.commands.submit(replace(waiting, created=site.parts.clock.now()))
        user = await make_user(site.parts)
        await site.parts.users.save(replace(user, groups=frozenset({APPROVERS})))
        await log_in(site.browser)
        assert UNREAD.text in (await site.browser.get("/")).text
        site.parts.reviews.surveyor = KnownSources(None)
        await site.parts.reviews.look_at_unfinished()
        shown = (await site.browser.get("/live")).text
        assert UNREAD.text not in shown
        assert "could not be looked at: nobody answers" in shown
