"""An engine's progress: worked out by a job from finished runs and the main branch."""

from dataclasses import dataclass, field, replace

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.kinds import SprtTest
from rookery.core.model.run import Run
from rookery.core.model.task import Results
from rookery.core.stats.sprt import Verdict
from rookery.server.sources.survey import MainCommit, SourcePlace
from tests.makers import NOW, make_plan, make_run, make_side, sprt
from tests.twins.farm import MemoryStore
from tests.twins.farm_commits import MemoryRows
from tests.twins.sites import NobodyOutside, make_site, open_site

pytestmark = pytest.mark.anyio

PAIRS = (10, 2000, 5000, 2260, 30)
SHAS = [letter * 40 for letter in "abcd"]


@dataclass(slots=True)
class Branch(NobodyOutside):
    asked: int = 0
    trees: list[str] = field(default_factory=list)

    def list_main(self, main: SourcePlace) -> tuple[MainCommit, ...]:
        assert main.repository == "https://github.com/official-stockfish/Stockfish"
        self.asked += 1
        return tuple(MainCommit(sha, 10**9, f"Change <{sha[0]}>", f"tree {sha[0]}") for sha in SHAS)

    def find_tree(self, place: SourcePlace) -> str:
        self.trees.append(place.commit)
        return "tree c" if place.commit.startswith("e") else "another"


def passed(name: str, commit: str) -> Run:
    plan = make_plan(sides=(make_side(name, commit=commit), make_side("master")))
    run = make_run(name, plan, sprt(1, 0, 2))
    assert isinstance(run.kind, SprtTest)
    state = with_fields(run.kind.state, verdict=Verdict.ACCEPTED)
    results = Results(4000, 3500, 2 * sum(PAIRS) - 7500, 0, 0, PAIRS)
    return replace(
        run,
        kind=replace(run.kind, state=state),
        tally=replace(run.tally, results=results),
        status=replace(run.status, finished=True),
        updated=NOW,
    )


async def test_accepted_commits_are_listed_and_chained() -> None:
    rows = MemoryRows()
    for run in (passed("one", SHAS[1]), passed("two", SHAS[3]), passed("odd", "f" * 40)):
        rows.runs[run.id] = run
    site = make_site(store=MemoryStore(rows))
    site.progress_keeping.surveyor = Branch()
    async with open_site(site) as opened:
        empty = await opened.browser.get("/engines/Stockfish/progress")
        assert "No accepted commits yet." in empty.text
        await site.progress_keeping.keep_current()
        page = (await opened.browser.get("/engines/Stockfish/progress")).text
        assert "2 commits" in page
        assert "Change &lt;d&gt;" in page
        assert "Change &lt;a&gt;" not in page
        assert page.count('<path class="curve') == 1
        assert (await opened.browser.get("/engines/Nowhere/progress")).status_code == 404


async def test_a_squashed_commit_is_found_by_its_tree_which_is_asked_for_once() -> None:
    rows = MemoryRows()
    for run in (passed("one", SHAS[1]), passed("two", "e" * 40), passed("odd", "f" * 40)):
        rows.runs[run.id] = run
    site, branch = make_site(store=MemoryStore(rows)), Branch()
    site.progress_keeping.surveyor = branch
    async with open_site(site):
        for _ in range(2):
            await site.progress_keeping.keep_current()
        found = await site.progress_keeping.load("Stockfish")
    assert found is not None
    assert [each.commit.sha[0] for each in found.accepted] == ["b", "c"]
    assert sorted(branch.trees) == ["e" * 40, "f" * 40]


async def test_a_branch_without_a_test_is_looked_at_all_the_same() -> None:
    site, branch = make_site(), Branch()
    site.progress_keeping.surveyor = branch
    async with open_site(site) as opened:
        await site.progress_keeping.keep_current()
        page = (await opened.browser.get("/engines/Stockfish/progress")).text
    assert "The branch has 4 commits now" in page


async def test_the_calculator_answers_by_its_address_and_takes_fishtests() -> None:
    async with open_site() as site:
        page = await site.browser.get("/sprt?elo0=0.5&elo1=2.5&model=logistic")
        assert 'value="0.5"' in page.text
        assert page.text.count("<svg") >= 2
        part = (await site.browser.get("/sprt?elo0=0&elo1=nonsense&part=1")).text
        assert "<html" not in part
        assert "not valid for a test" in part
        old = await site.browser.get("/sprt_calc?elo-0=0&elo-1=3&x=%22")
        assert old.headers["location"] == "/sprt?elo0=0&elo1=3"


@pytest.mark.parametrize("model", ["Normalized", "Logistic"])
async def test_a_link_that_fishtests_calculator_wrote_shows_its_numbers(model: str) -> None:
    numbers = "elo-0=0.0&elo-1=2.0&draw-ratio=0.49&rms-bias=191"
    async with open_site() as site:
        link = f"/sprt_calc?elo-model={model}&{numbers}"
        page = (await site.browser.get(link, follow_redirects=True)).text
        assert f'value="{model.lower()}" selected' in page
        assert "It takes longest near" in page
