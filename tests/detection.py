"""Fails every test whose code blocked the loop; tests/conftest.py makes these names known.

A test that blocks the loop on purpose requests the fixture `may_block_the_loop`; a test that causes
a violation removes it from `violations`, and fails if any is left there.

A long callback is only a suspicion at first: on an overloaded virtual machine, trivial callbacks
were sometimes charged with 20 to 100 ms of CPU time, for an unknown reason. So the test runs twice
more, and fails if the same callback is long each time. Everything that the test itself awaits
counts as one callback, that of its runner.

Detection is installed when a loop runs: most tests start none, and are not slowed down.
"""

import asyncio
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from rookery.server.boundary import detect
from rookery.server.boundary.detect import Allowance, Violation

# Whoever counts lines looks at each import, also at one that a loop waits for.
COUNTING = tuple(
    Allowance(call, "slipcover/importer.py", "matches", "in tests alone")
    for call in ("os.path.abspath", "os.stat", "os.readlink")
)
ALLOWED = (*detect.shipped(), *COUNTING)
RUNS = 3
LONG = "long callback"


class Suspicion(NamedTuple):
    """The callbacks that were long in every run of a test so far."""

    runs: int
    names: frozenset[str]


_SUSPECTED = pytest.StashKey[Suspicion]()


class Violations:
    """The violations that were found and not removed yet."""

    def __init__(self) -> None:
        self._found: list[Violation] = []

    def add(self, violation: Violation) -> None:
        self._found.append(violation)

    def take(self) -> list[Violation]:
        taken, self._found = self._found, []
        return taken


class LazyDetection:
    """Detection for one test at a time, installed as soon as a loop runs in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._report: detect.Report | None = None
        self._installed: detect.Detection | None = None
        self._run_forever = asyncio.BaseEventLoop.run_forever

    def run_forever(self, loop: asyncio.BaseEventLoop) -> None:
        """Replaces asyncio's own method, and calls it."""
        with self._lock:
            self._running += 1
            installs = self._install()
        try:
            if installs:
                # This is the method that detection has just installed in place of ours; it returns
                # here.
                asyncio.BaseEventLoop.run_forever(loop)
            else:
                self._run_forever(loop)
        finally:
            with self._lock:
                self._running -= 1

    def start(self, report: detect.Report) -> None:
        """Starts detection for a test; at once if a loop is running already."""
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
        self._installed = detect.install(self._report, allowances=ALLOWED)
        return True


_detection = LazyDetection()
# A function, because a bound method would not get the loop.
asyncio.BaseEventLoop.run_forever = lambda loop: _detection.run_forever(loop)  # type: ignore[assignment, method-assign]  # noqa: PLW0108


@pytest.fixture
def may_block_the_loop() -> None:
    """Switches detection off, for tests that need a blocked loop."""


@pytest.fixture(autouse=True)
def violations(request: pytest.FixtureRequest) -> Iterator[Violations]:
    """The violations of the test; must be empty at its end."""
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
    """Runs a test, and again while it is suspected of a long callback."""
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
