"""The values of a tune, as engines are given them."""

import msgspec

from rookery.core.protocol.worker_answers import SPSA, SpsaAnswer
from rookery.worker.matches import read_spsa_answer
from tests.engines.matches import mover

NEW, BASE = mover("new", options=[("A", "1"), ("Other", "x")]), mover("base")


def answer(**fields: object) -> SpsaAnswer:
    return SPSA.read(msgspec.json.encode({"task_alive": True, **fields}))


def value(number: float) -> list[dict[str, object]]:
    return [{"name": "A", "value": number}]


def test_values_for_an_official_worker_are_rounded_by_chance() -> None:
    told = answer(w_params=value(10.6), b_params=value(9.4), sig=5)
    low = read_spsa_answer(told, NEW, BASE, chance=lambda: 0.3)
    high = read_spsa_answer(told, NEW, BASE, chance=lambda: 0.7)
    assert low.values[0].new.options == (("Other", "x"), ("A", "10"))
    assert low.values[0].base.options == (("A", "9"),)
    assert high.values[0].new.options[-1] == ("A", "11")
    assert (low.signature, low.values[0].signature) == (5, 5)


def test_final_values_stay_as_they_are() -> None:
    slots = [
        {"w_params": value(0.25), "b_params": value(1e-7), "sig": 1},
        {"w_params": value(3), "b_params": value(4), "sig": 2},
    ]
    found = read_spsa_answer(answer(slots=slots, sig=9), NEW, BASE, chance=lambda: 0.99)
    assert [one.new.options[-1][1] for one in found.values] == ["0.25", "3"]
    assert [one.base.options[-1][1] for one in found.values] == ["0.0000001", "4"]
    assert ([one.signature for one in found.values], found.signature) == ([1, 2], 9)
