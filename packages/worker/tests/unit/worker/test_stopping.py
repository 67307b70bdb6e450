"""How long a worker waits before it asks again."""

from rookery.worker.stopping import Backoff


def test_each_wait_is_twice_as_long_up_to_a_limit() -> None:
    backoff = Backoff(15, 100, chance=lambda: 0.5)
    assert [backoff.seconds() for _ in range(4)] == [15, 30, 60, 100]
    backoff.reset()
    assert backoff.seconds() == 15


def test_chance_moves_a_wait_by_a_quarter() -> None:
    assert Backoff(16, 100, chance=lambda: 0.0).seconds() == 12
    assert Backoff(16, 100, chance=lambda: 1.0).seconds() == 20
