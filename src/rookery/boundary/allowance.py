"""The list of what may block on the loop under detection: one file, a reason for every line."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from rookery.boundary.errors import BoundaryError


class BadAllowance(BoundaryError):
    """A line of the allow-list is not `call | file | function | reason`:"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """This call may block when this function of this file is on the stack, because."""

    call: str
    file: str
    function: str
    reason: str


def parse(text: str) -> tuple[Allowance, ...]:
    """The allowances of a list; comments and empty lines do not count."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(_allowance(line) for line in lines if line and not line.startswith("#"))


def shipped() -> tuple[Allowance, ...]:
    """The allow-list that comes with the package."""
    return parse(resources.files("rookery.boundary").joinpath("allowed.txt").read_text("utf-8"))


def allows(allowances: Iterable[Allowance], call: str, file: str, function: str) -> bool:
    """Whether this function of this file may make the call on the loop."""
    return any(
        call == one.call and function == one.function and file.endswith(one.file)
        for one in allowances
    )


def _allowance(line: str) -> Allowance:
    columns = [column.strip() for column in line.split("|")]
    if len(columns) != 4 or not all(columns):
        raise BadAllowance(line)
    return Allowance(*columns)
