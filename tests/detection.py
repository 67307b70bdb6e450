"""Fails every test whose code blocked the loop; tests/conftest.py makes these fixtures known.

A test that blocks the loop on purpose asks for `may_block_the_loop`; one that plants a violation
takes it out of `violations`, and what it leaves there fails it.
"""

from collections.abc import Iterator

import pytest

from rookery.boundary import detect
from rookery.boundary.detect import Violation


class Violations:
    """What detection has found and nobody has taken out yet."""

    def __init__(self) -> None:
        self._found: list[Violation] = []

    def add(self, violation: Violation) -> None:
        self._found.append(violation)

    def take(self) -> list[Violation]:
        taken, self._found = self._found, []
        return taken


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
    detection = detect.install(found.add)
    yield found
    detection.uninstall()
    if left := found.take():
        pytest.fail("the loop was blocked:\n" + "\n".join(map(_sentence, left)), pytrace=False)


def _sentence(violation: Violation) -> str:
    took = f", {violation.seconds * 1000:.0f} ms of CPU" if violation.seconds else ""
    return f"{violation.kind}: {violation.what}{took}\n{violation.stack}"
