"""Actions in words, and who may read the worker logs that belong to them."""

from collections.abc import Callable, Iterable, Mapping

from rookery.core.model.actor import Actor
from rookery.core.model.events import LINK_MADE, SYSTEM, Action, Event
from rookery.core.model.run import Run
from rookery.core.model.task import TaskKey
from rookery.server.files.worker_logs import StoredLog

ACTION_WORDS: Mapping[str, str] = {
    Action.NEW_RUN: "submitted a test",
    Action.APPROVE_RUN: "approved a test",
    Action.MODIFY_RUN: "modified a test",
    Action.STOP_RUN: "stopped a test",
    Action.FINISHED_RUN: "a test finished",
    Action.PURGE_RUN: "purged a test",
    Action.DELETE_RUN: "deleted a test",
    Action.RESTORE_RUN: "restored a test",
    Action.REOPEN_RUN: "reopened a test",
    Action.FAILED_TASK: "a task failed",
    Action.DEAD_TASK: "a task was given up",
    Action.CRASH_OR_TIME: "crashes or time losses",
    Action.TOO_FAST: "played too fast",
    Action.WORKER_LOG: "a worker message",
    Action.BLOCK_WORKER: "blocked or unblocked a machine",
    Action.NEW_USER: "a new account",
    Action.ACCEPT_USER: "approved an account",
    Action.REJECT_USER: "rejected an account",
    Action.BLOCK_USER: "blocked or unblocked a user",
    Action.MODIFY_USER: "modified an account",
    Action.UPLOAD_NN: "uploaded a net",
    Action.REMOVE_NN: "removed a net",
    Action.REMOVE_USER: "removed an account",
    Action.CHANGE_PASSWORD: "changed a password",
    Action.CHANGE_EMAIL: "changed an e-mail address",
    Action.NEW_TOKEN: "created a token",
    Action.REVOKE_TOKEN: "revoked a token",
    Action.NEW_TEAM: "created a team",
    Action.JOIN_TEAM: "joined a team",
    Action.LEAVE_TEAM: "left a team",
    Action.MODIFY_TEAM: "modified a team",
    Action.NEW_ENGINE: "added an engine",
    Action.MODIFY_ENGINE: "modified an engine",
    Action.GIVE_ENGINE: "transferred an engine",
    Action.REMOVE_ENGINE: "removed an engine",
    Action.GRANT_REPOSITORY: "granted a repository",
    Action.REVOKE_REPOSITORY: "revoked a repository",
    Action.SYSTEM_EVENT: "a server message",
}
FAULTS = frozenset({Action.FAILED_TASK, Action.CRASH_OR_TIME, Action.TOO_FAST, Action.DEAD_TASK})
TOLD: Mapping[tuple[str, str], str] = {
    (Action.APPROVE_RUN, "approved"): ACTION_WORDS[Action.APPROVE_RUN],
    (Action.APPROVE_RUN, "unapproved"): "withdrew a test's approval",
    (Action.FINISHED_RUN, "finished"): ACTION_WORDS[Action.FINISHED_RUN],
    (Action.ACCEPT_USER, "accepted"): ACTION_WORDS[Action.ACCEPT_USER],
    (Action.BLOCK_WORKER, "blocked"): "blocked a machine",
    (Action.BLOCK_WORKER, "unblocked"): "unblocked a machine",
    (Action.BLOCK_USER, "blocked"): "blocked a user",
    (Action.BLOCK_USER, "unblocked"): "unblocked a user",
    (Action.CHANGE_PASSWORD, LINK_MADE): "created a password reset link",
    (Action.JOIN_TEAM, "is a member"): "added a member to a team",
    (Action.JOIN_TEAM, "leads"): "added a lead to a team",
    (Action.LEAVE_TEAM, "left"): ACTION_WORDS[Action.LEAVE_TEAM],
    (Action.LEAVE_TEAM, "sent away"): "removed a member from a team",
}
"""The words for actions whose message says which of two things was done, or nothing more than the
action itself."""


def index_logs(logs: Iterable[StoredLog]) -> Mapping[TaskKey, int]:
    """The number of the newest worker log of each task."""
    return {(log.run, log.task): log.id for log in sorted(logs, key=lambda one: one.id)}


def describe_action(event: Event) -> str:
    """What was done, in words."""
    return _find_told(event) or name_action(event.action)


def tell_message(event: Event) -> str:
    """The message of an action; empty if its words say as much."""
    return "" if _find_told(event) else _drop_blank_lines(event.message or "")


def _find_told(event: Event) -> str | None:
    return TOLD.get((event.action, event.message or ""))


def name_actor(event: Event) -> str:
    """Who acted; empty for the server itself."""
    return "" if event.actor == SYSTEM else event.actor


def is_failure(event: Event) -> bool:
    return event.action in FAULTS


def name_action(action: str) -> str:
    """The words for an action. An action of another version of Rookery is shown by its name."""
    return ACTION_WORDS.get(action, action.replace("_", " "))


def find_short_name(worker: str) -> str:
    """The name that a machine keeps across restarts, taken from the name of one of its
    processes."""
    return "-".join(worker.rstrip("*").split("-")[:3])


def may_read_logs(run: Run | None, reader: Actor | None) -> bool:
    """Whether the reader may read worker logs of a run. Logs contain paths and names of machines,
    so that only the run's owner and approvers may read them. None stands for a run that this reader
    may not see."""
    if run is None or reader is None:
        return False
    return reader.approver or reader.name == run.plan.owner


def list_readable(
    events: Iterable[Event], runs: Mapping[str, Run], reader: Actor | None
) -> list[tuple[str, int]]:
    """The tasks of these events whose logs the reader may read. `runs` are those that the reader
    may see."""
    return [
        (event.run, event.task)
        for event in events
        if event.task is not None and may_read_logs(runs.get(event.run), reader)
    ]


def _drop_blank_lines(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip())


LOG_FILTERS: Mapping[str, Callable[..., object]] = {
    "action_message": tell_message,
    "action_name": name_action,
    "action_words": describe_action,
    "actor": name_actor,
    "is_failure": is_failure,
    "machine_name": find_short_name,
}
"""The names of these functions in templates."""
