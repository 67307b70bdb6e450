"""What workers say about their tasks is taken in once, in order, and answered."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.events import Action
from rookery.core.model.kinds import Report, SprtTest, ticket_of
from rookery.core.model.machine import Machine
from rookery.core.model.run import DecidedBy, Run, RunFault
from rookery.core.model.task import Results, Task
from rookery.core.stats.spsa import TuneBatch, perturb
from rookery.server.farm.rules import lifecycle, reception
from rookery.server.farm.rules.answers import GO_ON, NO_CHANGES, TaskVerdict
from rookery.server.farm.rules.eligibility import Policy
from rookery.server.farm.rules.purge import Purging
from rookery.server.farm.rules.reception import Reception
from rookery.server.farm.rules.working_set import WorkingSet, end_task, settle
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
    sprt,
    spsa,
    working_with,
)


class Scene:
    """One run, one machine at its task."""

    def __init__(self, run: Run, machine: Machine | None = None) -> None:
        self.working: WorkingSet = working_with(run)
        self.reception = Reception(self.working)
        self.task: Task = grant(self.working, machine or make_machine())
        self.call = call_of(self.task)

    @property
    def run(self) -> Run:
        return self.working.runs()[self.task.run]

    def report(self, results: Results, seconds: float = 600) -> TaskVerdict:
        return self.reception.update(self.call, Report(results), later(seconds)).answer


def test_a_report_moves_the_sums() -> None:
    scene = Scene(make_run())
    assert scene.report(pairs(ww=2)).alive
    assert scene.run.tally.results == pairs(ww=2)
    assert scene.report(pairs(ww=2, even=1)).alive
    assert scene.run.tally.results == pairs(ww=2, even=1)
    assert scene.run.updated == later(600)


def test_an_identical_report_changes_nothing() -> None:
    scene = Scene(make_run(kind=sprt()))
    scene.report(pairs(ww=2))
    before = scene.run
    outcome = scene.reception.update(scene.call, Report(pairs(ww=2)), later(700))
    assert outcome.answer.alive
    assert outcome.changes is NO_CHANGES
    assert scene.run is before


def test_a_late_report_is_ignored_and_the_task_lives_on() -> None:
    scene = Scene(make_run())
    scene.report(pairs(ww=2))
    assert scene.report(pairs(ww=1)) == TaskVerdict(True)
    assert scene.run.tally.results == pairs(ww=2)


def test_a_refused_report_ends_the_task_and_counts_nothing() -> None:
    scene = Scene(make_run())
    scene.report(pairs(ww=2))
    answer = scene.report(pairs(ll=3))
    assert not answer.alive
    assert answer.error == "results reported before have changed"
    assert scene.run.tally.results == pairs(ww=2)
    assert scene.run.tally.workers == 0


def test_a_full_task_is_done_and_its_place_is_free() -> None:
    scene = Scene(make_run())
    assert not scene.report(pairs(even=scene.task.games // 2)).alive
    assert scene.run.tally.committed == scene.run.tally.results.games == scene.task.games
    assert scene.report(pairs(even=1)) == TaskVerdict(False, info="the task is not active any more")


def test_the_last_game_finishes_the_run() -> None:
    scene = Scene(make_run(plan=make_plan(games=100)))
    outcome = scene.reception.update(scene.call, Report(pairs(even=50)), later(999))
    assert not outcome.answer.alive
    (run,) = outcome.changes.runs
    assert run.status.finished
    assert not scene.working.runs()
    (event,) = outcome.changes.events
    assert (event.action, event.actor) == (Action.FINISHED_RUN, run.plan.owner)
    (row,) = outcome.changes.closings[0].rows()
    assert outcome.changes.tasks == (row,), "its row goes with the run's, not in a later slice"
    assert (row.active, row.results.games) == (False, 100)


def decided_by(*players: tuple[str, str, int], idle: str = "") -> DecidedBy:
    """Of a run to which these machines and users brought so many pairs, one after the other."""
    scene = Scene(make_run(plan=make_plan(games=2 * sum(pairs for _, _, pairs in players))))
    scene.reception.fail(scene.call, "", NOW)
    if idle:
        scene.working.machines.note_request(make_machine("idle", user=idle), NOW)
    for name, user, count in players:
        task = grant(scene.working, make_machine(name, cores=32, user=user))
        outcome = scene.reception.update(call_of(task), Report(pairs(even=count)), later(9999))
        if not outcome.changes.runs[-1].status.finished:
            scene.reception.fail(call_of(task), "", later(9999))
    return outcome.changes.runs[-1].status.decided_by


def test_a_verdict_by_one_machine_alone_or_nearly_is_marked() -> None:
    assert decided_by(("m1", "wanda", 50)) is DecidedBy.MACHINE
    assert decided_by(("m1", "wanda", 5), ("m2", "wanda", 45)) is DecidedBy.MACHINE
    assert decided_by(("m1", "wanda", 6), ("m2", "wanda", 44)) is DecidedBy.NOBODY


def test_the_log_does_not_call_a_test_decided_that_has_no_verdict() -> None:
    scene = Scene(make_run(plan=make_plan(games=100)))
    outcome = scene.reception.update(scene.call, Report(pairs(even=50)), later(999))
    (event,) = outcome.changes.events
    assert event.message == "100 games: 0 won, 0 lost, played by one machine"


def test_a_verdict_by_one_user_is_marked_where_others_have_machines_too() -> None:
    players = ("m1", "carol", 25), ("m2", "carol", 25)
    assert decided_by(*players, idle="boris") is DecidedBy.USER
    assert decided_by(("m1", "carol", 25), ("m2", "boris", 25)) is DecidedBy.NOBODY


@pytest.mark.parametrize(
    ("pairs_of_newcomers", "decided_by"), [(25, DecidedBy.NEWCOMERS), (24, DecidedBy.NOBODY)]
)
def test_a_verdict_that_rests_by_half_on_newcomers_is_marked(
    pairs_of_newcomers: int, decided_by: DecidedBy
) -> None:
    run, players = make_run(plan=make_plan(games=100)), ("nora", "carol", "boris")
    working = WorkingSet(standing={"carol", "boris"})
    working.admit(run, (), NOW)
    others = 50 - pairs_of_newcomers
    for user, count in zip(players, (pairs_of_newcomers, 20, others - 20), strict=True):
        task = grant(working, make_machine(user, cores=32, user=user))
        outcome = Reception(working).update(call_of(task), Report(pairs(even=count)), later(9999))
        if not outcome.changes.runs[-1].status.finished:
            Reception(working).fail(call_of(task), "", later(9999))
    assert outcome.changes.runs[-1].status.decided_by is decided_by
    assert working.newcomers == {"nora"}


LARGE = make_plan(games=100_000)


def large_machine(cores: int) -> Machine:
    """A machine that is twice as fast as the reference."""
    return make_machine(cores=cores, nps=1.4e6, memory=10**9)


def test_the_first_games_of_a_large_new_machine_count_once_it_was_watched_for_a_game() -> None:
    scene = Scene(make_run(plan=LARGE, kind=sprt()), large_machine(512))
    assert scene.report(pairs(even=150), seconds=10) == reception.PUT_OFF
    assert scene.run.tally.results.games == 0
    assert scene.report(pairs(even=600), seconds=31) == GO_ON
    assert scene.run.tally.results == pairs(even=600)


def test_what_a_machine_has_shown_is_believed_at_once_in_its_next_task() -> None:
    scene = Scene(make_run(plan=LARGE, kind=sprt()), large_machine(512))
    scene.report(pairs(even=600), seconds=31)
    scene.task = grant(scene.working, scene.task.machine, later(40))
    scene.call = call_of(scene.task)
    assert scene.report(pairs(even=150), seconds=50) == GO_ON


def test_the_machines_that_most_have_wait_for_nothing() -> None:
    """They report each batch."""
    scene = Scene(make_run(plan=LARGE, kind=sprt()), large_machine(128))
    for count in range(8, 130, 8):
        assert scene.report(pairs(even=count), seconds=5 + count / 8) == GO_ON


def test_a_last_report_too_fast_to_be_believed_is_kept_apart() -> None:
    plan = make_plan(games=600)
    scene = Scene(make_run(plan=plan, kind=sprt()), large_machine(512))
    assert scene.report(pairs(even=300), seconds=10) == reception.KEPT_APART
    assert scene.run.tally.results.games == 0


def test_what_was_kept_apart_makes_nobody_a_player() -> None:
    scene = Scene(make_run(plan=make_plan(games=100)))
    assert not scene.report(pairs(ww=40), seconds=1).alive
    assert scene.working.players.most_of_a_machine(scene.run.id) == 0


def test_ending_a_task_twice_ends_it_once() -> None:
    scene = Scene(make_run())
    assert end_task(scene.working, scene.task, NOW)
    assert not end_task(scene.working, scene.task, NOW)
    assert scene.run.tally.workers == 0


def test_a_verdict_finishes_a_sequential_test() -> None:
    scene = Scene(make_run(kind=sprt(elo0=0, elo1=50)))
    assert not scene.report(pairs(ww=17)).alive
    assert not scene.working.runs()


def test_a_run_that_wants_a_purge_is_not_called_finished_before_it() -> None:
    scene = Scene(make_run(plan=make_plan(games=100, auto_purge=True)))
    changes = scene.reception.update(scene.call, Report(pairs(even=50)), later(999)).changes
    assert changes.purges == (Purging(scene.task.run),)
    assert not changes.events


def stalled(scene: Scene, seconds: float) -> bool:
    """Whether the task is taken back, though its machine gave signs of life all the time."""
    assert scene.reception.beat(scene.call, later(seconds)).alive
    return bool(scene.reception.end_stalled_tasks((scene.task,), later(seconds)))


def test_signs_of_life_alone_hold_no_task_for_ever() -> None:
    scene = Scene(make_run())
    assert not stalled(scene, 3600)
    (event,) = scene.reception.end_stalled_tasks((scene.task,), later(3601)).events
    assert event.action is Action.FAILED_TASK
    assert event.message == "stalled: no results for 60 minutes"
    assert scene.run.tally.committed == 0, "its games go to others"
    assert scene.working.would_play(scene.task.machine, later(3602)) is None


def test_results_that_stay_away_after_the_first_ones_end_a_task_sooner() -> None:
    scene = Scene(make_run())
    scene.report(pairs(even=2), seconds=600)
    (scene.task,) = scene.working.tasks(scene.run.id)
    assert not stalled(scene, 600 + 900)
    assert stalled(scene, 600 + 901)


def test_no_results_are_missed_while_the_server_could_not_hear() -> None:
    scene = Scene(make_run())
    scene.working.last_seen.excuse_silence(later(10_000))
    assert not stalled(scene, 10_000 + 3600)
    assert stalled(scene, 10_000 + 3601)


def test_a_task_with_very_long_games_is_left_in_peace() -> None:
    scene = Scene(make_run(plan=make_plan(tc="3600+60")))
    assert not stalled(scene, 24 * 3600)


def test_crashes_are_told_when_the_task_ends() -> None:
    scene = Scene(make_run())
    scene.report(pairs(even=2, crashes=4))
    changes = scene.reception.fail(scene.call, "engine died", later(700)).changes
    assert [event.action for event in changes.events] == [
        Action.CRASH_OR_TIME,
        Action.FAILED_TASK,
    ]


def test_results_faster_than_games_can_be_played_are_kept_apart_and_not_counted() -> None:
    scene = Scene(make_run(kind=sprt()))
    outcome = scene.reception.update(scene.call, Report(pairs(ww=20)), later(1))
    assert outcome.answer == TaskVerdict(False, info=reception.TOO_FAST)
    assert scene.run.tally.results.games == scene.run.tally.committed == 0
    (event,), (row,), (apart,) = (
        outcome.changes.events,
        outcome.changes.tasks,
        outcome.changes.bad,
    )
    assert event.action is Action.TOO_FAST
    assert (row.bad, row.too_fast, row.results.games) == (True, True, 0)
    assert apart.task.results == pairs(ww=20)
    assert scene.working.would_play(scene.task.machine, later(2)) is None


def test_what_was_counted_before_is_taken_out_again_with_what_came_too_fast() -> None:
    scene = Scene(make_run(kind=sprt()))
    before = scene.run.kind
    assert scene.report(pairs(ww=3), seconds=20).alive
    assert not scene.report(pairs(ww=100), seconds=21).alive
    assert scene.run.tally.results.games == scene.run.tally.committed == 0
    assert isinstance(before, SprtTest)
    after = scene.run.kind
    assert isinstance(after, SprtTest)
    assert after.state.llr == pytest.approx(before.state.llr, abs=1e-3)


def test_a_simulated_fleet_reports_as_fast_as_it_likes() -> None:
    scene = Scene(make_run(kind=sprt()))
    scene.reception = Reception(scene.working, Policy(simulated=True))
    assert scene.report(pairs(even=20), seconds=0.01).alive
    assert scene.run.tally.results.games == 40


def test_a_few_games_too_fast_count_once_in_an_hour_and_not_from_task_to_task() -> None:
    scene = Scene(make_run(plan=make_plan(games=10_000)))
    counted = []
    for number in range(6):
        task = grant(scene.working, make_machine(f"m{number}"))
        outcome = scene.reception.update(call_of(task), Report(pairs(ww=1)), later(1))
        counted.append(not outcome.changes.bad)
    assert counted == [True, True, True, False, False, False]
    assert scene.run.tally.results.games == 6


def test_the_former_batches_of_a_tune_stay_when_a_later_one_comes_too_fast() -> None:
    scene = Scene(make_run(plan=make_plan(games=1000), kind=spsa()))
    assert scene.report(pairs(even=4), seconds=20).alive
    outcome = scene.reception.update(scene.call, Report(pairs(even=100)), later(21))
    (row,), (apart,) = outcome.changes.tasks, outcome.changes.bad
    assert (row.bad, row.too_fast, row.results) == (False, True, pairs(even=4))
    assert apart.task.results == pairs(even=96)
    assert scene.run.tally.results == pairs(even=4)
    assert scene.run.tally.committed == 8


def test_a_beat_keeps_a_task_alive_and_changes_nothing_else() -> None:
    scene = Scene(make_run())
    assert scene.reception.beat(scene.call, later(300)).alive
    assert not scene.reception.expire(later(600))
    assert scene.reception.expire(later(661)).events[0].action is Action.DEAD_TASK
    assert not scene.reception.beat(scene.call, later(662)).alive


def test_a_dead_tasks_games_count_and_the_rest_is_played_by_others() -> None:
    scene = Scene(make_run())
    scene.report(pairs(even=3))
    scene.reception.expire(later(5000))
    assert scene.run.tally.committed == 6
    assert grant(scene.working, make_machine("other"), later(5000)).start == scene.task.games


def test_silence_counts_only_while_the_server_could_hear() -> None:
    scene = Scene(make_run())
    scene.working.last_seen.excuse_silence(later(1000))
    assert not scene.reception.expire(later(1360))
    assert scene.reception.expire(later(1361))


def test_a_mass_death_is_buried_in_parts() -> None:
    working = working_with(make_run())
    for number in range(5):
        grant(working, make_machine(f"m{number}"))
    reception = Reception(working)
    assert [len(reception.expire(later(400), most=2).tasks) for _ in range(4)] == [2, 2, 1, 0]


def test_a_failed_task_is_over_and_the_machine_is_not_given_the_run_again() -> None:
    scene = Scene(make_run())
    outcome = scene.reception.fail(scene.call, "build failed", later(60))
    assert outcome.changes.events[0].message == "build failed"
    assert scene.reception.fail(scene.call, "again", later(61)).changes is NO_CHANGES
    machine = scene.task.machine
    assert scene.working.would_play(machine, later(90)) is None
    assert scene.working.would_play(restarted(machine), later(90)) is not None
    assert scene.working.would_play(machine, later(3700)) is not None


def test_a_failure_after_games_is_not_held_against_the_machine() -> None:
    scene = Scene(make_run())
    scene.report(pairs(even=3))
    scene.reception.fail(scene.call, "network", later(700))
    assert scene.working.would_play(scene.task.machine, later(700)) is not None


def test_a_call_about_anothers_task_is_refused() -> None:
    scene = Scene(make_run())
    thief = replace(scene.call, machine=with_fields(scene.task.machine, user="mallory"))
    with pytest.raises(RunFault, match="the task belongs to another worker"):
        scene.reception.beat(thief, NOW)
    ghost = replace(scene.call, machine=restarted(scene.task.machine))
    with pytest.raises(RunFault, match="the task belongs to another worker"):
        scene.reception.update(ghost, Report(pairs(ww=1)), NOW)


def test_a_tune_folds_a_batch_once_though_it_is_reported_twice() -> None:
    scene = Scene(make_run(plan=make_plan(games=1000), kind=spsa()))
    kind = scene.run.kind
    assert kind.tune
    drawn = perturb(kind.tune, b"\x80")
    assert scene.reception.issue(scene.call, ticket_of([drawn]), later(1)).answer.alive
    report = Report(pairs(ww=4), (TuneBatch(8, 8, 0, drawn.issued.signature),))
    assert scene.reception.update(scene.call, report, later(600)).answer.alive
    moved = scene.run.kind
    assert moved != kind
    outcome = scene.reception.update(scene.call, report, later(615))
    assert outcome.answer.alive
    assert outcome.changes is NO_CHANGES
    assert scene.run.kind is moved


def test_a_task_that_is_over_gets_no_ticket() -> None:
    scene = Scene(make_run(kind=spsa()))
    scene.reception.fail(scene.call, "", NOW)
    assert not scene.reception.issue(scene.call, (), NOW).answer.alive


def test_the_machine_is_kept_as_it_describes_itself_at_the_address_of_the_start() -> None:
    scene = Scene(make_run())
    machine = with_fields(scene.task.machine, nps=700_000.0, address="elsewhere")
    call = replace(scene.call, machine=machine)
    scene.reception.update(call, Report(pairs(even=1)), later(600))
    (task,) = scene.working.tasks(scene.task.run)
    assert (task.machine.nps, task.machine.address) == (700_000.0, "")


def test_a_machine_that_reports_is_kept_once_though_its_row_was_read_anew() -> None:
    scene = Scene(make_run())
    again = with_fields(scene.task.machine)
    assert again is not scene.task.machine
    scene.call = replace(scene.call, machine=again)
    scene.report(pairs(ww=1))
    kept = scene.working.task((scene.task.run, scene.task.id))
    assert kept
    assert kept.machine is again


def test_measured_game_time_sizes_the_next_task() -> None:
    scene = Scene(make_run())
    scene.report(pairs(even=2), 600)
    scene.report(pairs(even=22), 640)
    scene.reception.fail(scene.call, "", later(650))
    next_task = grant(scene.working, scene.task.machine, later(700))
    assert next_task.games > 2 * scene.task.games


def test_tasks_of_a_run_that_ended_are_passed_over_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reception, "MOST_LOOKED_AT", 2)
    working = working_with(make_run("one"), make_run("two", plan=make_plan(priority=-1)))
    for number in range(3):
        task = grant(working, make_machine(f"m{number}"))
    settle(working, lifecycle.stop(working.runs()[task.run], BOSS, NOW), NOW)
    last = grant(working, make_machine("last"))
    receiver, now = Reception(working), later(400)
    assert not receiver.expire(now)
    assert receiver.has_silent(now)
    assert [task.run for task in receiver.expire(now).tasks] == [last.run]
    assert not receiver.has_silent(now)
