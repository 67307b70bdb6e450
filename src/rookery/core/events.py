"""Events: what the action log and those who watch are told, as values (contract 13.5)."""

import enum
import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from rookery.core.run import Run
from rookery.core.task import Task

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


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the log; `task` and `worker` where a task is concerned, `subject` where an
    account is, `nn` where a net is."""

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
