"""Places are few, and fewer for each address."""

from contextlib import ExitStack

import pytest

from rookery.boundary.errors import GateFull
from rookery.boundary.offload import Gate
from rookery.web.bodies import Places, TooManyStreams


def test_no_address_takes_most_of_the_places() -> None:
    places = Places(Gate("events", 10))
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(places.enter("192.0.2.7"))
        with pytest.raises(TooManyStreams), places.enter("192.0.2.7"):
            pass
        with places.enter("192.0.2.8"):
            pass
    with places.enter("192.0.2.7"):
        pass


def test_a_refused_address_holds_no_place() -> None:
    gate = Gate("events", 5)
    places = Places(gate)
    with places.enter("192.0.2.7"):
        for _ in range(10):
            with pytest.raises(TooManyStreams), places.enter("192.0.2.7"):
                pass
        assert gate.stats().inside == 1


def test_all_places_may_be_taken() -> None:
    places = Places(Gate("events", 1))
    with places.enter("192.0.2.7"), pytest.raises(GateFull), places.enter("192.0.2.8"):
        pass
