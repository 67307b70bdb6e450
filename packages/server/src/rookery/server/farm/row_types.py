"""The columns of runs and tasks that rounds write, each declared once by its name.

A row is a named tuple, so its values are given by name, too. The queries of a round have places
(`/* names */` and the like) for what follows from the declaration.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple, get_type_hints


@dataclass(frozen=True, slots=True)
class Column:
    """How a column is written: the SQL type in which its values are sent and that of the table.

    A key finds the row, `kept` columns are never replaced, and `growing` ones never get less."""

    sent: str
    stored: str = ""
    key: bool = False
    kept: bool = False
    growing: bool = False


Text = Annotated[str, Column("text")]
TextKey = Annotated[str, Column("text", key=True)]
NumberKey = Annotated[int, Column("integer", key=True)]
Texts = Annotated[str, Column("text", "text[]")]
Document = Annotated[str, Column("text", "jsonb")]
Time = Annotated[datetime, Column("timestamptz")]
FirstTime = Annotated[datetime, Column("timestamptz", kept=True)]
Number = Annotated[int, Column("integer")]
BigNumber = Annotated[int, Column("bigint")]
GrowingNumber = Annotated[int, Column("integer", growing=True)]
Real = Annotated[float, Column("float8")]
Truth = Annotated[bool, Column("boolean")]


class FixedRunRow(NamedTuple):
    """The columns that are fixed when a run is created; only a modification by somebody changes
    them."""

    id: TextKey
    created: FirstTime
    owner: Text
    engines: Texts
    tc_base: Real
    plan: Document
    demands: Document
    kind: Text
    rules: Document
    reference_nps: Real
    rescheduled_from: Text


class ChangingRunRow(NamedTuple):
    """The id of a run, and the columns that change with its state."""

    id: TextKey
    updated: Time
    sequence: BigNumber
    progress: Document
    approver: Text
    finished: Truth
    failed: Truth
    deleted: Truth
    failures: Number
    flag: Text
    sole: Text
    newcomers: Truth
    workers: Number
    cores: Number
    committed: BigNumber
    total: BigNumber
    tasks: Number
    wins: BigNumber
    losses: BigNumber
    draws: BigNumber
    crashes: BigNumber
    time_losses: BigNumber
    p0: BigNumber
    p1: BigNumber
    p2: BigNumber
    p3: BigNumber
    p4: BigNumber
    closed_below: GrowingNumber


class FixedTaskRow(NamedTuple):
    """The columns that are fixed when a task is given out, unless its machine describes itself
    anew."""

    run: TextKey
    id: NumberKey
    start: Annotated[int, Column("bigint", kept=True)]
    games: Annotated[int, Column("integer", kept=True)]
    machine: Document
    created: FirstTime


class ChangingTaskRow(NamedTuple):
    """The key of a task, and the columns that change with its results."""

    run: TextKey
    id: NumberKey
    reported: Time
    wins: Number
    losses: Number
    draws: Number
    crashes: Number
    time_losses: Number
    p0: Number
    p1: Number
    p2: Number
    p3: Number
    p4: Number
    ticket: Annotated[str | None, Column("text", "jsonb")]
    active: Truth
    bad: Truth
    too_fast: Truth


Columns = Mapping[str, Column]


def columns_of(*rows: type[tuple[object, ...]]) -> Columns:
    """Return the columns of these rows by name, in order, each once."""
    found: dict[str, Column] = {}
    for row in rows:
        for name, hint in get_type_hints(row, include_extras=True).items():
            (column,) = hint.__metadata__
            found.setdefault(name, column)
    return found


ROUND_ROWS: Mapping[str, Columns] = {
    "runs_put": columns_of(FixedRunRow, ChangingRunRow),
    "runs_move": columns_of(ChangingRunRow),
    "tasks_put": columns_of(FixedTaskRow, ChangingTaskRow),
    "tasks_move": columns_of(ChangingTaskRow),
}
"""The columns of the rows that a query of a round takes, by its name."""


def fill_places(query: str, sql: str) -> str:
    """Return the text of a query, with what its rows' columns say in its places."""
    columns = ROUND_ROWS.get(query)
    if columns is None:
        return sql
    table = query.partition("_")[0]
    for place, parts in (
        ("names", columns),
        ("values", (_stored(name, column) for name, column in columns.items())),
        ("arrays", _list_arrays(columns.values())),
        ("entries", _list_entries(columns)),
        ("replaced", _list_changes(columns, table, "excluded")),
        ("moved", _list_changes(columns, table, "m")),
    ):
        sql = sql.replace(f"/* {place} */", ", ".join(parts))
    return sql


def _stored(name: str, column: Column) -> str:
    return f"{name}::{column.stored}" if column.stored else name


def _list_arrays(columns: Iterable[Column]) -> Iterable[str]:
    """Return the parameters of rows that are sent by columns."""
    return (f"${place}::text::{column.sent}[]" for place, column in enumerate(columns, 1))


def _list_entries(columns: Columns) -> Iterable[str]:
    """Yield the values of a row that is sent as an array in JSON, by name."""
    for place, (name, column) in enumerate(columns.items()):
        cast = "" if column.sent == "text" else f"::{column.sent}"
        yield f"(r ->> {place}){cast} AS {name}"


def _list_changes(columns: Columns, table: str, source: str) -> Iterable[str]:
    """Yield the assignments that bring a row up to date."""
    for name, column in columns.items():
        if column.growing:
            yield f"{name} = greatest({table}.{name}, {source}.{name})"
        elif not (column.key or column.kept):
            # Those to insert have their stored type already.
            value = _stored(f"{source}.{name}", column) if source == "m" else f"{source}.{name}"
            yield f"{name} = {value}"
