"""How fast engines are played, as machines tell it."""

from dataclasses import replace

from rookery.core.machine import Machine
from rookery.service.speeds import Speeds
from tests.unit.core.makers import ROOKERY, make_machine, make_plan, make_side

TINY = make_plan(engine="Tiny")


def ours(name: str, nps: float) -> Machine:
    return replace(make_machine(name), nps=nps, abilities=ROOKERY)


def test_the_median_of_what_each_machine_told_last() -> None:
    speeds = Speeds()
    for name, nps in (("a", 1.0), ("a", 9_000.0), ("b", 10_000.0), ("c", 30_000.0)):
        speeds.note(TINY, ours(name, nps))
    assert speeds.median("Tiny") == 10_000
    assert speeds.median("Other") == 0


def test_what_says_nothing_about_the_engine_is_passed_over() -> None:
    speeds = Speeds()
    speeds.note(TINY, replace(ours("a", 5.0), abilities=make_machine().abilities))
    speeds.note(TINY, ours("a", 0.0))
    sides = (make_side("a", engine="Tiny"), make_side("b", engine="Stockfish"))
    speeds.note(make_plan(sides=sides), ours("a", 5.0))
    speeds.note(make_plan(engine="uploaded"), ours("a", 5.0))
    assert speeds.median("Tiny") == speeds.median("uploaded") == 0
