"""What an approver should know: gathered by a job, told to a run's people alone."""

from dataclasses import dataclass, field, replace

import pytest

from rookery.pages.review import load_hints
from rookery.people.users import APPROVERS
from rookery.rules.lifecycle import Actor
from rookery.rules.review import SourceFacts
from rookery.sources.commits import SourceError
from rookery.sources.survey import MainCommit, SourcePlace
from tests.makers import make_plan, make_run, sprt
from tests.people import OLGA
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
        self, main: SourcePlace, new: SourcePlace, base: SourcePlace, net_pattern: str
    ) -> SourceFacts:
        self.asked += [main, new, base]
        assert net_pattern
        if self.facts is None:
            raise SourceError("nobody answers")
        return self.facts

    def list_main(self, main: SourcePlace) -> tuple[MainCommit, ...]:
        raise SourceError(main.repository)

    def read_file(self, main: SourcePlace, path: str) -> str:
        raise SourceError(main.repository + path)

    def forget_scratch(self, before: float) -> None:
        """There is none."""


async def told(api: Api, viewer: Actor | None, run_id: str) -> str | None:
    run = await api.fleet.views.known_run(run_id)
    found = (await load_hints(api.site, viewer, [run])).get(run_id)
    return None if found is None else " ".join(hint.text for hint in found)


async def reviewed(api: Api, facts: SourceFacts | None) -> tuple[str, KnownSources]:
    sources = KnownSources(facts)
    api.site.reviews.surveyor = sources
    run_id = await api.submitted(OLGA)
    await api.site.reviews.look_at_waiting()
    return run_id, sources


async def test_a_waiting_run_is_looked_at_once_and_told_to_its_people_alone() -> None:
    async with open_api() as api:
        facts = SourceFacts(ancestor=False, nets=("nn-0123456789ab.nnue",))
        run_id, sources = await reviewed(api, facts)
        await api.site.reviews.look_at_waiting()
        assert [place.repository for place in sources.asked] == [
            "https://github.com/official-stockfish/Stockfish",
            PLAIN["tests_repo"],
            PLAIN["tests_repo"],
        ]
        for viewer in (APPROVER, OWNER):
            text = await told(api, viewer, run_id) or ""
            assert "no ancestor" in text
            assert "not kept here: nn-0123456789ab.nnue" in text
            assert "first test of olga" in text
        assert await told(api, STRANGER, run_id) is None
        assert await told(api, None, run_id) is None


async def test_sources_that_nobody_answers_for_are_told_as_such() -> None:
    async with open_api() as api:
        run_id, _ = await reviewed(api, None)
        assert "could not be looked at: nobody answers" in (await told(api, APPROVER, run_id) or "")


async def test_before_the_job_came_by_the_run_itself_is_judged() -> None:
    async with open_api() as api:
        run_id = await api.submitted(OLGA, priority=5)
        assert "Priority 5" in (await told(api, APPROVER, run_id) or "")


async def test_the_start_page_tells_approvers_what_to_look_at_and_nobody_else() -> None:
    waiting = make_run("a", make_plan(owner="olga", priority=5), sprt(), approved=False)
    async with open_site() as site:
        await site.parts.fleet.commands.submit(replace(waiting, created=site.parts.clock.now()))
        assert "Priority 5" not in (await site.browser.get("/")).text
        user = await make_user(site.parts)
        await site.parts.users.save(replace(user, groups=frozenset({APPROVERS})))
        await log_in(site.browser)
        assert "Priority 5" in (await site.browser.get("/")).text
