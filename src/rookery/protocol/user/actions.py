"""One line of the log of actions, as scripts read it."""

from msgspec import UNSET, Struct, UnsetType, field

MOST_ACTIONS = 200


class ActionDocument(Struct, frozen=True, gc=False, kw_only=True):
    """Who did what; which of the later fields are there depends on the action."""

    id: str = field(name="_id")
    time: float
    action: str
    username: str
    worker: str | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    run: str | UnsetType = UNSET
    task_id: int | UnsetType = UNSET
    message: str | UnsetType = UNSET
    nn: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    engine: str | UnsetType = UNSET
    team: str | UnsetType = UNSET
