"""Events: what the action log and those who watch are told, as values."""

import enum
import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from rookery.model.run import Run
from rookery.model.task import Task

SYSTEM = "fishtest.system"
"""Who acts when nobody does; scripts that read the log know it by this name."""
MOST_CHARACTERS = 5120


class Action(enum.StrEnum):
    """What happened."""

    NEW_RUN = "new_run"
    APPROVE_RUN = "approve_run"
    MODIFY_RUN = "modify_run"
    STOP_RUN = "stop_run"
    FINISHED_RUN = "finished_run"
    PURGE_RUN = "purge_run"
    DELETE_RUN = "delete_run"
    RESTORE_RUN = "restore_run"
    REOPEN_RUN = "reopen_run"
    FAILED_TASK = "failed_task"
    DEAD_TASK = "dead_task"
    CRASH_OR_TIME = "crash_or_time"
    TOO_FAST = "too_fast"
    WORKER_LOG = "worker_log"
    BLOCK_WORKER = "block_worker"
    NEW_USER = "new_user"
    ACCEPT_USER = "accept_user"
    REJECT_USER = "reject_user"
    BLOCK_USER = "block_user"
    MODIFY_USER = "modify_user"
    UPLOAD_NN = "upload_nn"
    REMOVE_NN = "remove_nn"
    REMOVE_USER = "remove_user"
    CHANGE_PASSWORD = "change_password"  # noqa: S105 - the name of an action
    CHANGE_EMAIL = "change_email"
    NEW_TOKEN = "new_token"  # noqa: S105 - likewise
    REVOKE_TOKEN = "revoke_token"  # noqa: S105 - likewise
    NEW_TEAM = "new_team"
    JOIN_TEAM = "join_team"
    LEAVE_TEAM = "leave_team"
    MODIFY_TEAM = "modify_team"
    NEW_ENGINE = "new_engine"
    MODIFY_ENGINE = "modify_engine"
    GIVE_ENGINE = "give_engine"
    REMOVE_ENGINE = "remove_engine"
    GRANT_REPOSITORY = "grant_repository"
    REVOKE_REPOSITORY = "revoke_repository"
    SYSTEM_EVENT = "system_event"


BY_WORKERS = frozenset(
    {Action.FAILED_TASK, Action.DEAD_TASK, Action.CRASH_OR_TIME, Action.TOO_FAST, Action.WORKER_LOG}
)
"""What workers alone cause, as often as they like."""
NOT_AUTHORIZED = "(not authorized)"
"""The end of a complaint that stopped nothing, which is one of those, too."""

PERSONAL = frozenset(
    {
        Action.REMOVE_USER,
        Action.CHANGE_PASSWORD,
        Action.CHANGE_EMAIL,
        Action.NEW_TOKEN,
        Action.REVOKE_TOKEN,
    }
)
"""What is for the eyes of whom it concerns, and of approvers."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the log; `task` and `worker` where a task is concerned, `subject` where an
    account is, `nn` where a net is, `engine` and `team` where those are.

    A line with a team is for those who know of the team, one with an engine for those who know of
    the engine."""

    action: Action
    at: datetime
    actor: str
    run: str
    run_name: str
    message: str = ""
    task: int | None = None
    worker: str = ""
    subject: str = ""
    nn: str = ""
    engine: str = ""
    team: str = ""


def run_name(run: Run) -> str:
    """A name people recognise that is still unique."""
    return f"{run.plan.sides[0].tag[:23]}-{_mark(run.id)}"


@lru_cache(maxsize=4096)
def _mark(run_id: str) -> str:
    return hashlib.md5(run_id.encode(), usedforsecurity=False).hexdigest()[:7]


def about_run(action: Action, run: Run, actor: str, now: datetime, message: str = "") -> Event:
    return Event(action, now, actor, run.id, run_name(run), message[:MOST_CHARACTERS])


def about_user(action: Action, subject: str, actor: str, now: datetime, message: str) -> Event:
    return Event(action, now, actor, "", "", message[:MOST_CHARACTERS], subject=subject)


def about_team(
    action: Action, team: str, actor: str, now: datetime, message: str = "", subject: str = ""
) -> Event:
    return Event(action, now, actor, "", "", message, subject=subject, team=team)


def about_engine(
    action: Action, engine: str, actor: str, now: datetime, message: str = "", team: str = ""
) -> Event:
    message = message[:MOST_CHARACTERS]
    return Event(action, now, actor, "", "", message, engine=engine, team=team)


def about_net(
    nn: str, actor: str, now: datetime, engine: str = "", action: Action = Action.UPLOAD_NN
) -> Event:
    return Event(action, now, actor, "", "", nn=nn, engine=engine)


def about_system(message: str, now: datetime) -> Event:
    return Event(Action.SYSTEM_EVENT, now, SYSTEM, "", "", message[:MOST_CHARACTERS])


def about_task(action: Action, run: Run, task: Task, now: datetime, message: str = "") -> Event:
    return Event(
        action,
        now,
        task.machine.user,
        run.id,
        run_name(run),
        message[:MOST_CHARACTERS],
        task.id,
        task.machine.long_name,
    )


def is_by_worker(event: Event) -> bool:
    """Whether it is a worker's to cause it."""
    complaint = event.action is Action.STOP_RUN and event.message.endswith(NOT_AUTHORIZED)
    return complaint or event.action in BY_WORKERS
