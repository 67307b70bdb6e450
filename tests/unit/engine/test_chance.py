"""Noise and blunders come from seed and position alone."""

import chess
import pytest

from rookery.engine.ordering import draw, key_of, noisy
from tests.unit.engine.table import thought

KEY = key_of(chess.Board())


def test_the_draw_is_the_same_everywhere() -> None:
    assert draw(1, 0, KEY, 1) == 17487765092180488562


def test_seed_purpose_position_and_move_number_all_matter() -> None:
    other = key_of(chess.Board("4k3/8/8/8/8/8/8/4K3 w - - 0 1"))
    drawn = {draw(1, 0, KEY, 1), draw(2, 0, KEY, 1), draw(1, 1, KEY, 1), draw(1, 0, other, 1)}
    assert len(drawn | {draw(1, 0, KEY, 2)}) == 5


def test_noise_stays_within_its_share_and_goes_both_ways() -> None:
    limits = [noisy(1000, 20, draw(seed, 0, KEY, 1)) for seed in range(500)]
    assert 800 <= min(limits) < 850
    assert 1150 < max(limits) <= 1200
    assert abs(sum(limits) / 500 - 1000) < 20


def test_there_is_always_a_node() -> None:
    assert noisy(1, 90, 0) == 1


def nodes_used(seed: int) -> int:
    options = ("setoption name NodeNoise value 30", f"setoption name Seed value {seed}")
    said = thought("fen 8/8/8/4k3/8/8/4P3/4K3 w - - 0 1", "nodes 400", *options)
    return int(said[-2].split(" nodes ")[1].split()[0])


def test_noise_changes_the_search_from_seed_to_seed_but_not_from_time_to_time() -> None:
    assert [nodes_used(seed) for seed in (1, 2, 3)] == [nodes_used(seed) for seed in (1, 2, 3)]
    assert len({nodes_used(seed) for seed in range(6)}) > 1


@pytest.mark.parametrize(("percent", "moves"), [(0, 1), (100, 8)])
def test_a_blundering_engine_plays_anything(percent: int, moves: int) -> None:
    played = {
        thought(
            "fen 7k/8/8/8/8/8/8/KQ6 w - - 0 1",
            "depth 1",
            f"setoption name Blunder value {percent}",
            f"setoption name Seed value {seed}",
        )[-1]
        for seed in range(20)
    }
    assert len(played) >= moves
    assert percent or len(played) == 1
