"""Reads parameter lines: six fields as fishtest has them, seven with a type as OpenBench has them.

    name,start,min,max,c_end,r_end
    name,int|float,start,min,max,c_end,r_end

Six-field parameters are whole numbers, because the official worker rounds them. Both forms may
stand in one text, and blank lines are passed over.
"""

import math
import re
from collections.abc import Iterator

from rookery.core.spsa.faults import (
    BadKind,
    BadName,
    BadNumber,
    EmptyRange,
    NoParameters,
    OutOfBounds,
    RepeatedName,
    TooManyParameters,
    WrongFieldCount,
)
from rookery.core.spsa.parameter import Kind, Line

MOST_PARAMETERS = 10_000
LARGEST_NUMBER = 1e12
SMALLEST_C_END = 1e-9
LARGEST_R_END = 1e6
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
# An equals sign would end the name in `Name=Value`, a comma in these very lines.
_NAME = re.compile(r"[^\x00-\x1f\x7f,=]{1,100}")


def read_lines(text: str) -> tuple[Line, ...]:
    """All parameters of the text, or the fault of the first line that has one."""
    lines: dict[str, Line] = {}
    for number, fields in _rows(text):
        line = _read(number, fields)
        if line.name in lines:
            raise RepeatedName(line=number, name=line.name)
        lines[line.name] = line
    if not lines:
        raise NoParameters
    if len(lines) > MOST_PARAMETERS:
        raise TooManyParameters(found=len(lines), limit=MOST_PARAMETERS)
    return tuple(lines.values())


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, row in enumerate(text.split("\n"), start=1):
        if row.strip():
            yield number, [field.strip() for field in row.split(",")]


def _read(number: int, fields: list[str]) -> Line:
    if len(fields) not in (6, 7):
        raise WrongFieldCount(line=number, found=len(fields))
    name = fields[0]
    if not _NAME.fullmatch(name):
        raise BadName(line=number, name=name[:100])
    kind = _kind(number, name, fields[1]) if len(fields) == 7 else Kind.INT
    start, low, high, c_end, r_end = (
        _number(number, name, field, found)
        for field, found in zip(("start", "min", "max", "c_end", "r_end"), fields[-5:], strict=True)
    )
    line = Line(name, kind, start, low, high, c_end, r_end)
    _check(number, line)
    return line


def _kind(number: int, name: str, found: str) -> Kind:
    try:
        return Kind(found.lower())
    except ValueError:
        raise BadKind(line=number, name=name, found=found[:100]) from None


def _number(number: int, name: str, field: str, found: str) -> float:
    value = float(found) if _NUMBER.fullmatch(found) else math.inf
    if abs(value) > LARGEST_NUMBER:
        raise BadNumber(
            line=number, name=name, field=field, found=found[:100], limit=LARGEST_NUMBER
        )
    return value


def _check(number: int, line: Line) -> None:
    _within(number, line.name, "c_end", line.c_end, SMALLEST_C_END, LARGEST_NUMBER)
    _within(number, line.name, "r_end", line.r_end, 0, LARGEST_R_END)
    low, high = line.minimum, line.maximum
    if low > high or (line.kind is Kind.INT and math.ceil(low) > math.floor(high)):
        raise EmptyRange(line=number, name=line.name, low=low, high=high)


def _within(number: int, name: str, field: str, found: float, low: float, high: float) -> None:
    if not low <= found <= high:
        raise OutOfBounds(line=number, name=name, field=field, found=found, low=low, high=high)
