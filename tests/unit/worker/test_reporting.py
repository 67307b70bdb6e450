"""The heartbeat."""

import threading

from rookery.http_client import CallRefused, NoAnswer
from rookery.worker.reporting import Heartbeat

LIMIT_SECONDS = 60


def test_it_beats_when_nothing_else_is_heard() -> None:
    twice = threading.Semaphore(0)

    def beat() -> bool:
        twice.release()
        return True

    with Heartbeat(beat, lambda: None, period=0.0, tick=0.001):
        assert all(twice.acquire(timeout=LIMIT_SECONDS) for _ in range(2))


def test_a_task_that_is_not_alive_is_lost() -> None:
    lost = threading.Event()
    with Heartbeat(lambda: False, lost.set, period=0.0, tick=0.001) as heart:
        assert lost.wait(LIMIT_SECONDS)
        assert heart.stopped


def test_a_refused_beat_ends_the_task() -> None:
    def refuse() -> bool:
        raise CallRefused

    lost = threading.Event()
    with Heartbeat(refuse, lost.set, period=0.0, tick=0.001):
        assert lost.wait(LIMIT_SECONDS)


def test_an_unheard_beat_is_followed_by_another() -> None:
    tries = threading.Semaphore(0)

    def fail() -> bool:
        tries.release()
        raise NoAnswer

    lost = threading.Event()
    with Heartbeat(fail, lost.set, period=0.0, tick=0.001):
        assert all(tries.acquire(timeout=LIMIT_SECONDS) for _ in range(3))
    assert not lost.is_set()


def test_a_silent_heart_says_nothing() -> None:
    beats: list[str] = []

    def beat() -> bool:
        beats.append("beat")
        return True

    with Heartbeat(beat, lambda: None, period=1000.0, tick=0.001) as heart:
        heart.heard()
    assert beats == []
