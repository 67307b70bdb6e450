"""Which runs get their sources from this server, and by what name."""

import pytest

from rookery.farm.submission import Surroundings, planned
from rookery.model.engine import STOCKFISH, Catalogue, EngineRecord
from rookery.model.plan import Plan
from rookery.protocol.codec import WireFault
from rookery.sources.commits import mirror_name, mirrored_side
from tests.submissions import submitted

SECRET = EngineRecord(name="Secret", source="https://git.example/secret", team="them", private=True)
CATALOGUE = Catalogue({engine.name: engine for engine in (STOCKFISH, SECRET)})


def plan_of(around: Surroundings, **changes: object) -> Plan:
    return planned(submitted(**changes), "olga", around)[0]


def test_workers_fetch_what_they_can_by_themselves() -> None:
    assert not plan_of(Surroundings()).mirrored


@pytest.mark.parametrize(
    ("around", "changes"),
    [
        (Surroundings(), {"mirrored": True}),
        (Surroundings(mirroring=True), {}),
        (Surroundings(schemes=frozenset({"ssh"})), {"tests_repo": "ssh://git@host/engine.git"}),
        (
            Surroundings(CATALOGUE, credentials=True),
            {"new_engine": "Secret", "base_engine": "Secret", "tests_repo": None},
        ),
    ],
)
def test_what_is_wanted_or_out_of_their_reach_is_mirrored(
    around: Surroundings, changes: dict[str, object]
) -> None:
    assert plan_of(around, **changes).mirrored


def test_programs_need_no_mirror() -> None:
    both = {"new_binary": "c" * 64, "base_binary": "c" * 64}
    assert not plan_of(Surroundings(mirroring=True), **both).mirrored


@pytest.mark.parametrize("address", ["file:///srv/engine", "ssh://host/x", "git://host/x"])
def test_what_the_server_does_not_fetch_either_is_refused(address: str) -> None:
    with pytest.raises(WireFault, match="tests_repo: this server takes no sources by"):
        plan_of(Surroundings(), tests_repo=address)


def test_names_of_mirrors_are_plain_and_differ() -> None:
    names = {mirror_name(f"https://{host}/a/Engine X") for host in ("one", "two")}
    assert len(names) == 2
    assert all(name.startswith("Engine-X-") and name.isascii() for name in names)


def test_an_archive_is_for_a_side_of_a_mirrored_plan_alone() -> None:
    plan = plan_of(Surroundings(), mirrored=True)
    name = mirror_name(plan.sides[0].repository)
    assert mirrored_side(plan, name, "a" * 40) == plan.sides[0]
    assert mirrored_side(plan, name, "b" * 40) == plan.sides[1]
    assert mirrored_side(plan, name, "c" * 40) is None
    assert mirrored_side(plan, "other", "a" * 40) is None
    assert mirrored_side(plan_of(Surroundings()), name, "a" * 40) is None
