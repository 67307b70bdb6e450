"""The log of actions: who did what to runs, machines and accounts."""

from collections.abc import Collection
from datetime import UTC, datetime

from rookery.core.model.bounds import RunId
from rookery.core.protocol import v1
from rookery.core.protocol.actions import All, Among, Compare, Expression, Order
from rookery.core.protocol.codec import BadParameter
from rookery.server.engines.privacy import Privacy
from rookery.server.farm.reads import FleetReads
from rookery.server.http.endpoint import LOOP, Endpoints
from rookery.server.http.query_values import Paging, Query
from rookery.server.identity.bearers import Caller, actor_of

api = Endpoints("/api/v1")


class ActionSearch(Query, frozen=True):
    """Which actions are wanted; an empty text stands for all."""

    action: v1.Name = ""
    actor: v1.Name = ""
    run: RunId = ""
    before: str | None = None


@api("GET /actions", LOOP, "awaits one query")
async def list_actions(
    reads: FleetReads,
    privacy: Privacy,
    caller: Caller | None,
    search: ActionSearch,
    paging: Paging,
) -> v1.ActionList:
    """The log of actions, newest first."""
    sight = privacy.sight(actor_of(caller))
    found = await reads.actions(_make_filter(search), limit=paging.size, sight=sight)
    return v1.ActionList(actions=found)


def _make_filter(search: ActionSearch) -> Expression:
    fields = {"action": search.action, "username": search.actor, "run_id": search.run}
    parts: list[Expression] = [
        Compare(field, Order.EQUAL, value) for field, value in fields.items() if value
    ]
    if search.before is not None:
        parts.append(Compare("time", Order.BELOW, _read_moment(search.before)))
    return All(tuple(parts))


def _read_moment(text: str) -> float:
    """A time in ISO 8601, as UNIX seconds."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        raise BadParameter(
            name="before", text="expected a time such as 2026-03-01T12:00Z"
        ) from None


def select_machine_actions(name: str, kinds: Collection[str] = ()) -> Expression:
    """The expression for all log lines of a machine, or for some kinds of them. In the log, a
    machine's name is followed by a part of its key or a star; a full stop sorts after both."""
    lines = (
        Compare("worker", Order.AT_LEAST, name),
        Compare("worker", Order.BELOW, f"{name}."),
    )
    return All((*lines, Among("action", tuple(kinds))) if kinds else lines)
