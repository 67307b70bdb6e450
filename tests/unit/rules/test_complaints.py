"""Workers that say a run is broken: one that is trusted, or users that agree, stop it."""

from rookery.model.events import Action
from rookery.model.task import Task
from rookery.rules.answers import ComplaintWeight, Decision, StopAnswer
from tests.makers import NOW, call_of, grant, make_machine, make_plan, make_run
from tests.unit.rules.test_reception import Scene


def test_a_trusted_reporter_stops_a_broken_run() -> None:
    scene = Scene(make_run())
    outcome = scene.reception.stop(scene.call, "wrong bench", NOW, weight=ComplaintWeight.STOPS)
    assert outcome.answer is StopAnswer.STOPPED
    assert outcome.changes.runs[0].status.failed
    again = scene.reception.stop(scene.call, "wrong bench", NOW, weight=ComplaintWeight.STOPS)
    assert again.answer is StopAnswer.FINISHED


def test_the_owner_of_a_run_is_trusted_with_it() -> None:
    scene = Scene(make_run(plan=make_plan(owner="wanda")))
    outcome = scene.reception.stop(scene.call, "wrong bench", NOW, weight=ComplaintWeight.COUNTS)
    assert outcome.answer is StopAnswer.STOPPED


def test_machines_of_one_user_do_not_stop_a_run_but_two_users_that_agree_do() -> None:
    scene = Scene(make_run())
    first = complained(scene, scene.task, "bench 123")
    assert first.answer is StopAnswer.NOT_TRUSTED
    assert "not authorized" in (first.changes.events[0].message or "")
    assert scene.working.would_play(scene.task.machine, NOW) is None
    invented = grant(scene.working, make_machine("invented"))
    assert complained(scene, invented, "bench 123").answer is StopAnswer.NOT_TRUSTED
    boris, carol = (grant(scene.working, make_machine(user=user)) for user in ("boris", "carol"))
    assert complained(scene, boris, "bench 999").answer is StopAnswer.NOT_TRUSTED
    assert complained(scene, carol, "bench 123").answer is StopAnswer.STOPPED


def test_users_whose_word_does_not_count_stop_no_run_however_many_they_are() -> None:
    scene = Scene(make_run())
    for user in ("new0", "new1", "new2"):
        task = grant(scene.working, make_machine(user=user))
        outcome = complained(scene, task, "bench 123", ComplaintWeight.NOTED)
        assert outcome.answer is StopAnswer.NOT_TRUSTED
    assert complained(scene, scene.task, "bench 123").answer is StopAnswer.NOT_TRUSTED


def test_the_end_of_a_run_by_a_worker_is_logged_with_worker_and_task() -> None:
    scene = Scene(make_run())
    (event,) = complained(scene, scene.task, "wrong bench", ComplaintWeight.STOPS).changes.events
    machine = scene.task.machine
    assert event.action is Action.STOP_RUN
    assert (event.actor, event.worker) == (machine.user, machine.long_name)
    assert (event.task, event.message) == (scene.task.id, "wrong bench")


def complained(
    scene: Scene, task: Task, message: str, weight: ComplaintWeight = ComplaintWeight.COUNTS
) -> Decision[StopAnswer]:
    return scene.reception.stop(call_of(task), message, NOW, weight=weight)
