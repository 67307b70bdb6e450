"""Events name runs and workers as the log does."""

from dataclasses import replace

from rookery.core.model.events import Action, about_run, about_task, run_name
from tests.values import NOW, make_machine, make_run, make_task


def test_a_runs_name_is_its_tag_and_a_digest_of_its_id() -> None:
    run = replace(make_run(), id="64e74776a170cb1f26fa3930")
    assert run_name(run) == "idea-2a5e880"


def test_messages_are_cut() -> None:
    event = about_run(Action.STOP_RUN, make_run(), "olga", NOW, "x" * 6000)
    assert len(event.message or "") == 5120


def test_an_event_about_a_task_names_its_worker() -> None:
    run = make_run()
    task = make_task(run, make_machine())
    event = about_task(Action.DEAD_TASK, run, task, NOW)
    assert (event.actor, event.task, event.worker) == ("wanda", 0, task.machine.long_name)
