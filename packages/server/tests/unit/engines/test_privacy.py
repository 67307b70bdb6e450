"""Privacy: runs of private engines are for their teams."""

import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.core.protocol.people import Team
from rookery.server.engines.engines import Engines
from rookery.server.engines.privacy import Privacy
from rookery.server.teams.teams import Teams
from tests.fakes import HandClock
from tests.makers import BOSS, NOW, make_plan, make_run, make_side
from tests.twins.people import MemoryTeams, MemoryUsers, NoAudit
from tests.twins.records import MemoryEngines
from tests.unit.engines.test_engines import playing

pytestmark = pytest.mark.anyio

OWLS = Team(
    "owls",
    (
        "both",
        "olga",
    ),
    ("olga",),
    NOW,
)
CATS = Team(
    "cats",
    (
        "both",
        "carl",
    ),
    ("carl",),
    NOW,
)


@pytest.fixture
async def privacy() -> Privacy:
    teams = Teams(MemoryTeams(OWLS, CATS), MemoryUsers(), HandClock(), NoAudit())
    await teams.load()
    engines = Engines(MemoryEngines(), teams, HandClock(), playing(), {}, NoAudit())
    await engines.put(EngineRecord(name="owls~Strix", team="owls", private=True), Actor("olga"))
    await engines.put(EngineRecord(name="cats~Felis", team="cats", private=True), Actor("carl"))
    await engines.put(EngineRecord(name="Open", team="cats"), BOSS)
    return Privacy(engines, teams)


async def test_a_private_engine_is_for_its_team_alone(privacy: Privacy) -> None:
    run = make_run(plan=make_plan(engine="owls~Strix"))
    assert privacy.may_see("olga", run)
    assert not privacy.may_see("carl", run)
    assert not privacy.may_see(BOSS.name, run)
    assert not privacy.may_see(None, run)
    assert privacy.is_private(run)


async def test_two_private_engines_are_for_those_in_both_teams(privacy: Privacy) -> None:
    sides = (make_side("a", engine="owls~Strix"), make_side("b", engine="cats~Felis"))
    run = make_run(plan=make_plan(sides=sides))
    seen = [name for name in ("olga", "carl", "both", None) if privacy.may_see(name, run)]
    assert seen == ["both"]


async def test_what_is_hidden_depends_on_who_looks(privacy: Privacy) -> None:
    assert privacy.hidden(None) == {"owls~Strix", "cats~Felis"}
    assert privacy.hidden("olga") == {"cats~Felis"}
    assert privacy.hidden("both") == frozenset()


async def test_an_open_engine_of_a_team_is_for_all(privacy: Privacy) -> None:
    run = make_run(plan=make_plan(engine="Open"))
    assert privacy.may_see(None, run)
    assert not privacy.is_private(run)
