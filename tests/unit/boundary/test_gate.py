"""The gate lets a few in and refuses the others at once."""

import pytest

from rookery.boundary.errors import GateFull
from rookery.boundary.offload import Gate, GateStats


def test_a_full_gate_refuses_at_once_and_names_itself() -> None:
    gate = Gate("request_task", 1)
    with gate.enter(), pytest.raises(GateFull, match="request_task"), gate.enter():
        pass


def test_a_place_is_free_again_when_its_holder_leaves() -> None:
    gate = Gate("request_task", 1)
    for _ in range(3):
        with gate.enter():
            pass
    assert gate.stats() == GateStats("request_task", size=1, inside=0, entered=3, refused=0)


def test_a_place_is_free_again_when_its_holder_fails() -> None:
    gate = Gate("request_task", 1)
    with pytest.raises(ZeroDivisionError), gate.enter():
        raise ZeroDivisionError
    assert gate.stats().inside == 0


def test_refusals_are_counted() -> None:
    gate = Gate("request_task", 1)
    with gate.enter():
        for _ in range(2):
            with pytest.raises(GateFull), gate.enter():
                pass
        assert gate.stats() == GateStats("request_task", size=1, inside=1, entered=1, refused=2)


def test_a_gate_without_places_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Gate("nobody", 0)
