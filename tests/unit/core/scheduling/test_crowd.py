"""Counts of active tasks by name, with runs that end in one step."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rookery.rules.roster import Crowd, Sitting

STEPS = st.lists(st.tuples(st.sampled_from("sler"), st.integers(0, 2), st.sampled_from("ab")))


def test_tasks_are_counted_by_name() -> None:
    crowd, sitting = Crowd(), Sitting()
    for name in "aab":
        crowd.enter(name, sitting)
    crowd.leave("a", sitting)
    assert (crowd.of("a"), crowd.of("b"), crowd.of("c")) == (1, 1, 0)


def test_a_sitting_that_is_over_counts_for_nobody() -> None:
    crowd, over, other = Crowd(), Sitting(), Sitting()
    crowd.enter("a", over)
    crowd.enter("a", other)
    over.over = True
    crowd.end()
    assert crowd.of("a") == 1


@given(STEPS)
def test_counts_are_those_of_counting_anew(steps: list[tuple[str, int, str]]) -> None:
    crowd, sittings = Crowd(), [Sitting(), Sitting(), Sitting()]
    tasks: Counter[tuple[int, str]] = Counter()
    for step, run, name in steps:
        if step == "s":
            crowd.enter(name, sittings[run])
            tasks[run, name] += 1
        elif step == "l" and tasks[run, name]:
            crowd.leave(name, sittings[run])
            tasks[run, name] -= 1
        elif step == "e":
            sittings[run].over, sittings[run] = True, Sitting()
            crowd.end()
            tasks[run, "a"] = tasks[run, "b"] = 0
        else:
            assert crowd.of(name) == sum(tasks[each, name] for each in range(3))
