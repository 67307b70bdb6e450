"""How many games at a time, and over how many processes."""

from pathlib import Path

import pytest

from rookery.core.command import BadArgument
from rookery.match.processors import (
    MOST_GAMES,
    Shard,
    local_nodes,
    physical_cores,
    plan_shards,
    read_concurrency,
    usable_processors,
)


def test_numbers_and_expressions() -> None:
    assert read_concurrency("7") == 7
    assert read_concurrency("max*3") == 3 * usable_processors()
    assert read_concurrency("PHYS") == physical_cores()


@pytest.mark.parametrize("text", ["", "0", "MAX-100000", "two", "MAX+", "-1", "9999", "1; ls"])
def test_what_is_no_number_of_games_is_refused(text: str) -> None:
    with pytest.raises(BadArgument, match="write 4, MAX"):
        read_concurrency(text)


def test_a_containers_quota_counts(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text("100000 100000\n")
    assert usable_processors(quota) == 1
    quota.write_text("max 100000\n")
    assert usable_processors(quota) == usable_processors(tmp_path / "none")


ONE = (frozenset(range(8)),)
TWO = (frozenset(range(32)), frozenset(range(32, 64)))


def test_a_small_match_has_one_process() -> None:
    assert plan_shards(4, ONE) == (Shard(4, ONE[0]),)


def test_no_process_has_more_than_sixteen_games() -> None:
    assert [shard.games for shard in plan_shards(40, ONE)] == [13, 13, 14]


def test_each_node_has_its_own_processes() -> None:
    shards = plan_shards(62, TWO)
    assert {shard.processors for shard in shards} == set(TWO)
    assert sum(shard.games for shard in shards) == 62
    assert max(shard.games for shard in shards) <= MOST_GAMES


def test_uneven_nodes_get_uneven_shares() -> None:
    shards = plan_shards(9, (frozenset(range(4)), frozenset(range(4, 12))))
    assert sorted((shard.games, len(shard.processors)) for shard in shards) == [(3, 4), (6, 8)]


def test_no_more_nodes_than_games() -> None:
    assert len(plan_shards(1, TWO)) == 1


def test_unknown_nodes_are_one() -> None:
    assert plan_shards(3, ()) == (Shard(3, frozenset()),)


def test_nodes_are_read_and_keep_to_what_this_process_may_use(tmp_path: Path) -> None:
    first = min(frozenset.union(*local_nodes()))
    for number, text in enumerate((f"{first}\n", "9000-9003,9007\n")):
        (tmp_path / f"node{number}").mkdir()
        (tmp_path / f"node{number}" / "cpulist").write_text(text)
    assert local_nodes(tmp_path) == (frozenset({first}),)
