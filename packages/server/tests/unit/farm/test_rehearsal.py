"""The core as a whole keeps its promises under any sequence of operations."""

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.unit.farm.rehearsal import OFTEN, Rehearsal, rehearse

DIGEST = "5aa7464578ad647f5e80a7ef44e0f7ea56387d07e1b6a1ffb99c28038c27e3dc"


def test_ten_thousand_operations_always_end_in_the_same_state() -> None:
    scene = rehearse(seed=2026, steps=10_000)
    scene.check()
    assert scene.digest() == DIGEST


class Operations(RuleBasedStateMachine):
    """Sums equal the recounted ones, ranges are disjoint, repeats are harmless, after each step."""

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.scene = Rehearsal(random.Random(seed))
        for _ in range(3):
            self.scene.submit_run()
        for _ in range(9):
            self.scene.approve()

    @rule(name=st.sampled_from(sorted(OFTEN)))
    def operate(self, name: str) -> None:
        getattr(self.scene, name)()

    @rule()
    def play(self) -> None:
        for _ in range(4):
            self.scene.request()
            self.scene.report()

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "scene"):
            self.scene.check()


TestOperations = Operations.TestCase
TestOperations.settings = settings(
    max_examples=25, stateful_step_count=25, derandomize=True, deadline=None
)
