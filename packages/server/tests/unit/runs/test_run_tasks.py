"""The tasks of a run: how the worker of each compares with the others."""

from rookery.core.model.task import Task
from rookery.core.protocol.v1_insights import ResidualEntry
from rookery.core.stats.residuals import Colour, judge_workers
from rookery.server.farm.rules.purge import BadTask
from rookery.server.runs.tasks.page import judge_tasks
from tests.makers import NOW, make_machine, make_run, pairs

USUAL, ODD = pairs(ll=20, even=400, ww=20), pairs(ll=150, even=140, ww=150)


def test_a_task_is_judged_by_its_worker_and_a_struck_out_one_as_it_was_then() -> None:
    machines = [make_machine(name) for name in ("ada", "eve", "new")]
    tasks = [Task(make_run().id, at, 0, 64, each, NOW, NOW) for at, each in enumerate(machines)]
    names = [each.long_name for each in machines]
    test = judge_workers({names[0]: USUAL.pentanomial, names[1]: ODD.pentanomial})
    assert test is not None
    workers = [
        ResidualEntry(worker=name, user="u", results=ODD, residual=test.residuals[name])
        for name in names[:2]
    ]
    judged = judge_tasks(tasks, {}, workers, test)
    assert judged[1] == (test.residuals[names[1]], test.colour(test.residuals[names[1]]))
    assert judged[2] == (None, Colour.GREEN)
    struck = judge_tasks(tasks, {0: BadTask(tasks[0], 9.0, Colour.RED)}, workers, test)
    assert struck[0] == (9.0, Colour.RED)
    assert judge_tasks(tasks, {}, workers, None)[0] == (None, Colour.GREEN)
