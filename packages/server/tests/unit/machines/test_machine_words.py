"""Words for a machine's state, speed and results."""

from datetime import timedelta

import pytest

from rookery.core.model.task import Task
from rookery.core.stats.residuals import Colour
from rookery.server.farm.views import KnownMachine
from tests.makers import NOW, make_machine, make_run
from tests.rendered import read_words, render_macro

TASK = Task("run", 0, 0, 100, make_machine(), NOW, NOW)
LONG_AGO = NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    ("known", "blocked", "words"),
    [
        (KnownMachine(make_machine(), LONG_AGO, LONG_AGO, TASK), False, "● playing"),
        (KnownMachine(make_machine(), NOW, NOW), False, "◌ waiting"),
        (KnownMachine(make_machine(), LONG_AGO, LONG_AGO), False, "○ away"),
        (None, False, "○ away"),
        (KnownMachine(make_machine(), NOW, NOW, TASK), True, "■ blocked"),
    ],
)
def test_the_state_of_a_machine_is_told_by_its_task_and_its_last_sign_of_life(
    known: KnownMachine | None, blocked: bool, words: str
) -> None:
    assert read_words(render_macro("machine_words.html", "activity", known, NOW, blocked)) == words


def test_results_that_differ_are_marked() -> None:
    told = {
        Colour.GREEN: "like the others",
        Colour.YELLOW: "▲ differs a little",
        Colour.RED: "▲ differs from the rest",
    }
    for colour, words in told.items():
        assert read_words(render_macro("machine_words.html", "likeness", colour)) == words


def test_a_speed_is_compared_where_both_are_known() -> None:
    run = make_run("run")
    fast = make_machine(nps=1.5 * run.reference_nps)
    assert render_macro("machine_words.html", "ratio", fast, run) == "150 %"
    assert render_macro("machine_words.html", "ratio", fast, None) == ""
    assert render_macro("machine_words.html", "ratio", make_machine(nps=0.0), run) == ""
