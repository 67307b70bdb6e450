"""Demands put a plan into figures that a machine is measured by."""

from msgspec.structs import replace as with_fields

from rookery.model.engine import STANDARD
from rookery.model.plan import demands_of
from tests.makers import make_plan, make_side


def test_memory_is_the_contracts() -> None:
    assert demands_of(make_plan(), STANDARD).memory_mib(8) == 3612


def test_a_game_takes_as_many_cores_as_the_larger_side() -> None:
    plan = make_plan(sides=(make_side(threads=2), make_side(threads=3)))
    assert demands_of(plan, STANDARD).slots(8) == 2


def test_options_without_a_hash_ask_for_none() -> None:
    assert make_side(options="Threads=1 Hash=64").hash_mib == 64
    assert make_side(options="").hash_mib == 0


def test_runs_that_differ_in_weight_alone_have_equal_demands() -> None:
    plan = make_plan(arch_filter="avx2")
    heavy = with_fields(plan, priority=5, throughput=200, games=2000)
    assert demands_of(plan, STANDARD) == demands_of(heavy, STANDARD)
