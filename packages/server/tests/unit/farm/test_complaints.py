"""Workers that say a run is broken: one that is trusted, or users that agree, stop it."""

from rookery.core.model.events import Action
from rookery.core.model.machine import Machine
from rookery.core.model.task import Task
from rookery.server.farm.rules import lifecycle
from rookery.server.farm.rules.answers import ComplaintWeight, Decision, StopAnswer, TaskVerdict
from rookery.server.farm.rules.observations import MOST_COMPLAINTS, Failures
from rookery.server.farm.rules.working_set import settle
from tests.makers import (
    BOSS,
    NOW,
    call_of,
    grant,
    later,
    make_machine,
    make_plan,
    make_run,
    pairs,
    restarted,
)
from tests.unit.farm.test_reception import Scene


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


NO_NET = "The server has no net nn-1.nnue."


def gave_up(
    scene: Scene, machine: Machine, weight: ComplaintWeight | None = ComplaintWeight.COUNTS
) -> Decision[TaskVerdict]:
    """A machine gets the run and says that every machine must fail on it."""
    task = grant(scene.working, machine)
    return scene.reception.fail(call_of(task), NO_NET, NOW, weight)


def is_stopped(scene: Scene) -> bool:
    return scene.task.run not in scene.working.runs()


def test_a_run_that_machines_of_two_users_cannot_play_is_stopped_with_a_sentence() -> None:
    scene = Scene(make_run())
    gave_up(scene, make_machine("one", user="boris"))
    assert not is_stopped(scene)
    last = gave_up(scene, make_machine("two", user="carol"))
    assert is_stopped(scene)
    (event,) = last.changes.events
    assert event.action is Action.STOP_RUN
    assert event.message == (
        f"{NO_NET} Another machine found the same, so the run was stopped: none could play it."
    )


def test_two_machines_of_its_owner_are_enough() -> None:
    scene = Scene(make_run(plan=make_plan(owner="boris")))
    for name in ("one", "two"):
        assert not is_stopped(scene)
        gave_up(scene, make_machine(name, user="boris"))
    assert is_stopped(scene)


def test_one_machine_that_starts_again_is_still_one() -> None:
    scene = Scene(make_run())
    machine = make_machine("one", user="boris")
    gave_up(scene, machine, ComplaintWeight.STOPS)
    again = restarted(machine)
    assert scene.working.would_play(again, NOW) is None
    later_on = scene.reception.fail(
        call_of(grant(scene.working, again, later(3700))),
        NO_NET,
        later(3700),
        ComplaintWeight.STOPS,
    )
    assert not is_stopped(scene)
    assert later_on.changes.events[0].action is Action.FAILED_TASK


def test_machines_of_one_ordinary_user_stop_nothing() -> None:
    scene = Scene(make_run())
    for name in ("one", "two", "three"):
        gave_up(scene, make_machine(name, user="boris"))
    assert not is_stopped(scene)


def test_failures_of_machines_stop_nothing() -> None:
    scene = Scene(make_run())
    for user in ("boris", "carol", "dora"):
        gave_up(scene, make_machine(user=user), weight=None)
    assert not is_stopped(scene)


def test_a_run_that_somebody_has_played_is_not_hopeless() -> None:
    scene = Scene(make_run())
    scene.report(pairs(1))
    for user in ("boris", "carol", "dora"):
        gave_up(scene, make_machine(user=user))
    assert not is_stopped(scene)


def test_of_very_many_different_complaints_about_a_run_the_first_are_forgotten() -> None:
    failures = Failures()
    for number in range(MOST_COMPLAINTS):
        assert failures.complain("r", f"complaint {number}", "boris") == 1
    assert failures.complain("r", "complaint 0", "carol") == 2
    assert failures.complain("r", "another one", "boris") == 1
    assert failures.complain("r", "complaint 0", "dora") == 1
    assert failures.complain("r", "complaint 2", "dora") == 2


def test_a_reopened_run_is_tried_again_at_once() -> None:
    scene = Scene(make_run())
    machines = [make_machine(user=user) for user in ("boris", "carol")]
    stopped = [gave_up(scene, machine) for machine in machines][-1].changes.runs[0]
    settle(scene.working, lifecycle.restart(stopped, BOSS, NOW), NOW)
    assert all(scene.working.would_play(machine, NOW) for machine in machines)
