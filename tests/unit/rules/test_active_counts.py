"""Counts of active tasks by name, with runs that end in one step."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rookery.rules.machines import ActiveCounts, RunSpan

STEPS = st.lists(st.tuples(st.sampled_from("sler"), st.integers(0, 2), st.sampled_from("ab")))


def test_tasks_are_counted_by_name() -> None:
    counts, span = ActiveCounts(), RunSpan()
    for name in "aab":
        counts.enter(name, span)
    counts.leave("a", span)
    assert (counts.of("a"), counts.of("b"), counts.of("c")) == (1, 1, 0)


def test_a_sitting_that_is_over_counts_for_nobody() -> None:
    counts, over, other = ActiveCounts(), RunSpan(), RunSpan()
    counts.enter("a", over)
    counts.enter("a", other)
    over.over = True
    counts.end()
    assert counts.of("a") == 1


@given(STEPS)
def test_counts_are_those_of_counting_anew(steps: list[tuple[str, int, str]]) -> None:
    counts, spans = ActiveCounts(), [RunSpan(), RunSpan(), RunSpan()]
    tasks: Counter[tuple[int, str]] = Counter()
    for step, run, name in steps:
        if step == "s":
            counts.enter(name, spans[run])
            tasks[run, name] += 1
        elif step == "l" and tasks[run, name]:
            counts.leave(name, spans[run])
            tasks[run, name] -= 1
        elif step == "e":
            spans[run].over, spans[run] = True, RunSpan()
            counts.end()
            tasks[run, "a"] = tasks[run, "b"] = 0
        else:
            assert counts.of(name) == sum(tasks[each, name] for each in range(3))
