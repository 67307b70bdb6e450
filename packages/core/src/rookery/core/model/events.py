"""Events: the entries of the action log, also sent to subscribers."""

import enum
import hashlib
from datetime import datetime
from functools import lru_cache

from msgspec import Struct, field

from rookery.core.model.run import Run
from rookery.core.model.task import Task

SYSTEM = "fishtest.system"
"""The user name of actions that nobody caused; scripts that read the log expect this name."""
MOST_CHARACTERS = 5120


class Action(enum.StrEnum):
    """The kinds of events."""

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
"""Actions that only workers cause, as often as they like."""
LINK_MADE = "a link was made"
"""The message of a password event when somebody was only given a link to change the password."""
NOT_AUTHORIZED = "(not authorized)"
"""The end of the message of a complaint that stopped nothing; such an event is caused by a worker,
too."""

PERSONAL = frozenset(
    {
        Action.REMOVE_USER,
        Action.CHANGE_PASSWORD,
        Action.CHANGE_EMAIL,
        Action.NEW_TOKEN,
        Action.REVOKE_TOKEN,
    }
)
"""Actions that only the concerned user and approvers may see."""


WORDLESS = frozenset({Action.DEAD_TASK, Action.DELETE_RUN})
"""Actions without a message; every other action has one, perhaps empty."""


class Event(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One line of the log of actions, as it is written, read and answered; `id` is its number after
    it was written. `task` and `worker` are set if it concerns a task, `subject` for an account,
    `nn` for a net, `engine` and `team` for those.

    A line with a team is only shown to people who may know of the team; the same holds for an
    engine."""

    id: str = ""
    at: datetime = field(name="time")
    action: str
    """One of `Action`, or an action of another version of Rookery."""
    actor: str
    run: str = ""
    run_name: str = ""
    task: int | None = None
    worker: str = ""
    message: str | None = None
    subject: str = field(default="", name="user")
    nn: str = field(default="", name="net")
    engine: str = ""
    team: str = ""


def run_name(run: Run) -> str:
    """Return a name of the run that people recognise and that is still unique."""
    return f"{run.plan.new.tag[:23]}-{_mark(run.id)}"


@lru_cache(maxsize=4096)
def _mark(run_id: str) -> str:
    return hashlib.md5(run_id.encode(), usedforsecurity=False).hexdigest()[:7]


def about_run(action: Action, run: Run, actor: str, now: datetime, message: str = "") -> Event:
    return Event(
        action=action,
        at=now,
        actor=actor,
        run=run.id,
        run_name=run_name(run),
        message=_said(action, message),
    )


def about_user(action: Action, subject: str, actor: str, now: datetime, message: str) -> Event:
    said = _said(action, message)
    return Event(action=action, at=now, actor=actor, message=said, subject=subject)


def about_team(
    action: Action, team: str, actor: str, now: datetime, message: str = "", subject: str = ""
) -> Event:
    said = _said(action, message)
    return Event(action=action, at=now, actor=actor, message=said, subject=subject, team=team)


def about_engine(
    action: Action, engine: str, actor: str, now: datetime, message: str = "", team: str = ""
) -> Event:
    said = _said(action, message)
    return Event(action=action, at=now, actor=actor, message=said, engine=engine, team=team)


def about_net(
    nn: str, actor: str, now: datetime, engine: str = "", action: Action = Action.UPLOAD_NN
) -> Event:
    return Event(action=action, at=now, actor=actor, message="", nn=nn, engine=engine)


def about_system(message: str, now: datetime) -> Event:
    said = _said(Action.SYSTEM_EVENT, message)
    return Event(action=Action.SYSTEM_EVENT, at=now, actor=SYSTEM, message=said)


def about_worker(action: Action, worker: str, actor: str, now: datetime, message: str) -> Event:
    said = _said(action, message)
    return Event(action=action, at=now, actor=actor, worker=worker, message=said)


def about_task(action: Action, run: Run, task: Task, now: datetime, message: str = "") -> Event:
    return Event(
        action=action,
        at=now,
        actor=task.machine.user,
        run=run.id,
        run_name=run_name(run),
        task=task.id,
        worker=task.machine.long_name,
        message=_said(action, message),
    )


def _said(action: Action, message: str) -> str | None:
    return None if action in WORDLESS and not message else message[:MOST_CHARACTERS]


def is_by_worker(event: Event) -> bool:
    """Whether a worker caused the event."""
    complaint = event.action == Action.STOP_RUN and (event.message or "").endswith(NOT_AUTHORIZED)
    return complaint or event.action in BY_WORKERS
