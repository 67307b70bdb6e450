"""What the tables of a run's pages say of tasks, events and tuned parameters."""

from collections.abc import Mapping

from rookery.core.model.events import SYSTEM, Action, Event
from rookery.core.model.task import Task
from rookery.core.stats.spsa import Tune
from rookery.server.http.pages.marks import draw_sparkline

TASKS_PER_PAGE = 50


def address_task(run_id: str, task: int) -> str:
    """The address of a task in the list of its run's tasks, which are numbered from 0 without
    gaps."""
    page = task // TASKS_PER_PAGE + 1
    return f"/runs/{run_id}/tasks?sort=task&page={page}#task-{task}"


def draw_parameter(tune: Tune, place: int) -> str:
    """The course of a tuned parameter, as a line in a drawing of 100 by 20."""
    line = tune.parameters[place].line
    values = [line.start, *(point[place].theta for point in tune.history), tune.thetas[place]]
    return draw_sparkline(values, line.minimum, line.maximum)


def describe_task_state(task: Task) -> str:
    if task.too_fast:
        return "kept apart"
    return "struck out" if task.bad else "playing" if task.active else "ended"


ACTION_TEXTS: Mapping[str, str] = {
    Action.NEW_RUN: "submitted",
    Action.APPROVE_RUN: "",
    Action.MODIFY_RUN: "modified",
    Action.STOP_RUN: "stopped",
    Action.FINISHED_RUN: "finished",
    Action.PURGE_RUN: "purged",
    Action.DELETE_RUN: "deleted",
    Action.RESTORE_RUN: "restored",
    Action.REOPEN_RUN: "",
    Action.FAILED_TASK: "a task failed",
    Action.DEAD_TASK: "a task was given up",
    Action.CRASH_OR_TIME: "crashes or time losses",
    Action.TOO_FAST: "played too fast",
    Action.WORKER_LOG: "a worker message",
}
"""Actions in the past tense. For an empty one, only its message is shown."""


def tell_event(event: Event) -> tuple[str, str, str]:
    """An event of the log in words: what happened, who did it, and a message."""
    message, known = event.message or "", ACTION_TEXTS.get(event.action)
    who = "the server" if event.actor == SYSTEM else event.actor
    if known == "":
        return message, who, ""
    return known or event.action.replace("_", " "), who, message
