"""Plans as jsonb. Their rows are spelled out because a time control is one of several types, which
a decoder can tell apart only by name."""

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from rookery.core.plan import Book, Plan, Rules, Side, Wishes
from rookery.core.timecontrol import Clock, Depth, MoveTime, Nodes, TimeControl
from rookery.storage.fleet.json import Json


class TimeRow(Struct, frozen=True, omit_defaults=True):
    """A time control under the name of its type."""

    clock: Clock | None = None
    nodes: Nodes | None = None
    depth: Depth | None = None
    move: MoveTime | None = None


class SideRow(Struct, frozen=True, kw_only=True):
    """One engine that plays."""

    tag: str
    commit: str
    message: str
    signature: str
    options: str
    uci: tuple[tuple[str, str], ...]
    nets: tuple[str, ...]
    repository: str
    engine: str
    binary: str
    tc: TimeRow | None
    threads: int | None
    record: str = ""


class PlanRow(Struct, frozen=True, kw_only=True):
    """All a submitter chose."""

    sides: tuple[SideRow, ...]
    games: int
    tc: TimeRow
    owner: str
    book: Book
    threads: int
    rules: Rules
    wishes: Wishes
    priority: int
    throughput: int
    auto_purge: bool
    info: str
    master_repo: str = ""


_PLAN: Json[PlanRow] = Json(PlanRow)


def plan_text(plan: Plan) -> str:
    fields = _fields(plan) | {"sides": tuple(map(_side_row, plan.sides)), "tc": _time_row(plan.tc)}
    return _PLAN.text(PlanRow(**fields))


def plan_of(text: str) -> Plan:
    row = _PLAN.value(text)
    return Plan(
        **asdict(row) | {"sides": tuple(map(_side, row.sides)), "tc": _time_control(row.tc)}
    )


def _side_row(side: Side) -> SideRow:
    return SideRow(**_fields(side) | {"tc": side.tc and _time_row(side.tc)})


def _side(row: SideRow) -> Side:
    return Side(**asdict(row) | {"tc": row.tc and _time_control(row.tc)})


def _fields(value: Plan | Side) -> dict[str, Any]:
    return {name: getattr(value, name) for name in type(value).__dataclass_fields__}


def _time_row(tc: TimeControl) -> TimeRow:
    match tc:
        case Clock():
            return TimeRow(clock=tc)
        case Nodes():
            return TimeRow(nodes=tc)
        case Depth():
            return TimeRow(depth=tc)
        case MoveTime():
            return TimeRow(move=tc)


def _time_control(row: TimeRow) -> TimeControl:
    found = row.clock or row.nodes or row.depth or row.move
    assert found is not None
    return found
