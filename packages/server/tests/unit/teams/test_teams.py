"""Teams: who makes, joins, leads and leaves them."""

import pytest

from rookery.core.model.actor import Actor
from rookery.server.identity.users import UnknownUser
from rookery.server.teams.teams import LastLead, NotLeading, TeamExists, Teams, UnknownTeam
from tests.fakes import HandClock
from tests.makers import BOSS, OWNER, STRANGER
from tests.people import BORIS, OLGA, SVEN
from tests.twins.farm_commits import MemoryRows
from tests.twins.people import MemoryAudit, MemoryTeams, MemoryUsers, NoAudit

pytestmark = pytest.mark.anyio


def make_teams(rows: MemoryTeams | None = None) -> Teams:
    return Teams(rows or MemoryTeams(), MemoryUsers(OLGA, BORIS, SVEN), HandClock(), NoAudit())


async def led(teams: Teams, actor: Actor = OWNER) -> Teams:
    await teams.create("owls", actor)
    return teams


async def test_whoever_makes_a_team_leads_it() -> None:
    teams = await led(make_teams())
    assert teams.of(OWNER.name) == {"owls"}
    assert teams.by_name("owls", OWNER).leads == (OWNER.name,)
    with pytest.raises(TeamExists):
        await teams.create("owls", STRANGER)


async def test_a_team_is_known_to_its_members_and_to_approvers() -> None:
    teams = await led(make_teams())
    assert [team.name for team in teams.list_visible(BOSS)] == ["owls"]
    assert teams.list_visible(STRANGER) == ()
    with pytest.raises(UnknownTeam):
        teams.by_name("owls", STRANGER)
    await teams.add_member("owls", STRANGER.name, OWNER)
    assert teams.by_name("owls", STRANGER).members == ("olga", "sven")


async def test_those_who_lead_take_others_in_and_out() -> None:
    teams = await led(make_teams())
    await teams.add_member("owls", STRANGER.name, OWNER)
    with pytest.raises(NotLeading):
        await teams.add_member("owls", BOSS.name, STRANGER)
    with pytest.raises(NotLeading):
        await teams.remove_member("owls", OWNER.name, STRANGER)
    await teams.remove_member("owls", STRANGER.name, OWNER)
    assert teams.of(STRANGER.name) == frozenset()


async def test_members_may_leave_but_somebody_goes_on_leading() -> None:
    teams = await led(make_teams())
    await teams.add_member("owls", STRANGER.name, OWNER)
    with pytest.raises(LastLead):
        await teams.remove_member("owls", OWNER.name, OWNER)
    await teams.add_member("owls", STRANGER.name, OWNER, lead=True)
    await teams.remove_member("owls", OWNER.name, OWNER)
    assert teams.by_name("owls", STRANGER).leads == (STRANGER.name,)


async def test_nobody_joins_without_an_account() -> None:
    teams = await led(make_teams())
    with pytest.raises(UnknownUser):
        await teams.add_member("owls", "nobody", OWNER)


async def test_another_process_finds_the_teams() -> None:
    rows = MemoryTeams()
    await led(make_teams(rows))
    other = make_teams(rows)
    await other.load()
    assert other.of(OWNER.name) == {"owls"}


async def test_what_changes_in_a_team_is_told() -> None:
    rows = MemoryRows()
    users, audit = MemoryUsers(OLGA, BORIS, SVEN), MemoryAudit(rows)
    teams = await led(Teams(MemoryTeams(), users, HandClock(), audit))
    for _ in range(2):
        await teams.add_member("owls", "sven", OWNER)
    await teams.add_member("owls", "sven", OWNER, lead=True)
    await teams.remove_member("owls", "olga", OWNER)
    await teams.remove_member("owls", "nobody", BOSS)
    assert {each.team for each in rows.events} == {"owls"}
    assert [(str(each.action), each.subject, each.message) for each in rows.events] == [
        ("new_team", "", ""),
        ("join_team", "sven", "is a member"),
        ("modify_team", "sven", "leads"),
        ("leave_team", "olga", "left"),
    ]
