"""Fails every test whose code blocked the loop; tests/conftest.py makes these names known.

A test that blocks the loop on purpose asks for `may_block_the_loop`; one that plants a violation
takes it out of `violations`, and what it leaves there fails it.

A long callback is only a suspicion at first: on an overloaded virtual machine trivial callbacks
were now and then booked with 20 to 100 ms of CPU time, for a reason we have not found. So the test
runs twice more, and fails when the same callback is long each time. All that the test itself awaits
is one callback in this sense, that of its runner.

The nets are hung up when a loop runs: most tests start none, and need not pay for them.
"""

import asyncio
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from rookery.boundary import detect
from rookery.boundary.detect import Violation

RUNS = 3
LONG = "long callback"


class Suspicion(NamedTuple):
    """The callbacks that were long in every run of a test so far."""

    runs: int
    names: frozenset[str]


_SUSPECTED = pytest.StashKey[Suspicion]()


class Violations:
    """What detection has found and nobody has taken out yet."""

    def __init__(self) -> None:
        self._found: list[Violation] = []

    def add(self, violation: Violation) -> None:
        self._found.append(violation)

    def take(self) -> list[Violation]:
        taken, self._found = self._found, []
        return taken


class LazyDetection:
    """Detection for one test after the other, installed as soon as a loop runs in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._report: detect.Report | None = None
        self._installed: detect.Detection | None = None
        self._run_forever = asyncio.BaseEventLoop.run_forever

    def run_forever(self, loop: asyncio.BaseEventLoop) -> None:
        """Takes the place of asyncio's own, which it calls."""
        with self._lock:
            self._running += 1
            installs = self._install()
        try:
            if installs:
                # What detection has just put in our place; it comes back here.
                asyncio.BaseEventLoop.run_forever(loop)
            else:
                self._run_forever(loop)
        finally:
            with self._lock:
                self._running -= 1

    def start(self, report: detect.Report) -> None:
        """For a test that begins; at once where a loop runs already."""
        with self._lock:
            self._report = report
            if self._running:
                self._install()

    def stop(self) -> None:
        with self._lock:
            self._report = None
            if self._installed is not None:
                self._installed.uninstall()
                self._installed = None

    def _install(self) -> bool:
        if self._report is None or self._installed is not None:
            return False
        self._installed = detect.install(self._report)
        return True


_detection = LazyDetection()
# A function, because a bound method would not be given the loop.
asyncio.BaseEventLoop.run_forever = lambda loop: _detection.run_forever(loop)  # type: ignore[assignment, method-assign]  # noqa: PLW0108


@pytest.fixture
def may_block_the_loop() -> None:
    """Asked for by tests that need a blocked loop: detection stays off."""


@pytest.fixture(autouse=True)
def violations(request: pytest.FixtureRequest) -> Iterator[Violations]:
    """What the test's code did to the loop; must be empty in the end."""
    found = Violations()
    if may_block_the_loop.__name__ in request.fixturenames:
        yield found
        return
    _detection.start(found.add)
    yield found
    _detection.stop()
    _judge(found.take(), request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and again while it is suspected of a long callback."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for _ in range(RUNS - 1):
        if _SUSPECTED in item.stash and item.stash[_SUSPECTED].names:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _judge(left: list[Violation], test: pytest.Item) -> None:
    before = test.stash.get(_SUSPECTED, None)
    names = frozenset(one.what for one in left if one.kind == LONG)
    suspicion = Suspicion(before.runs + 1, before.names & names) if before else Suspicion(1, names)
    test.stash[_SUSPECTED] = suspicion
    known = suspicion.names if suspicion.runs == RUNS else frozenset()
    proven = [one for one in left if one.kind != LONG or one.what in known]
    if proven:
        pytest.fail("the loop was blocked:\n" + "\n".join(map(_sentence, proven)), pytrace=False)


def _sentence(violation: Violation) -> str:
    took = f", {violation.seconds * 1000:.0f} ms of CPU" if violation.seconds else ""
    return f"{violation.kind}: {violation.what}{took}\n{violation.stack}"
