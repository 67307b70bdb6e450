"""Names in the paths of the user API."""

import re
from dataclasses import dataclass

from rookery.protocol.faults import BadName

_ID = r"(?P<run>[0-9a-f]{24})"
_NUMBER = r"(?P<task>[0-9]{1,9})"
_TASK = re.compile(rf"{_NUMBER}(?P<bad>bad)?")
_PGN = re.compile(rf"{_ID}-{_NUMBER}")
_RUN_PGNS = re.compile(rf"{_ID}\.pgn\.gz")
_NET = re.compile(
    r"nn-(?P<hash>[0-9a-f]{12})\.nnue|(?P<whole>[0-9a-f]{64})(\.[A-Za-z0-9]{1,10})?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class TaskName:
    """A task of a run, or one of its bad tasks."""

    number: int
    bad: bool


@dataclass(frozen=True, slots=True)
class PgnName:
    """The games of one task."""

    run_id: str
    task_id: int


def task_name(text: str) -> TaskName:
    """`17`, or `2bad` for the third bad task."""
    found = _match(_TASK, text, "17 or 2bad")
    return TaskName(int(found["task"]), found["bad"] is not None)


def pgn_name(text: str) -> PgnName:
    """`{run_id}-{task_id}.pgn`; what follows the first dot does not matter."""
    found = _match(_PGN, text.partition(".")[0], "{run_id}-{task_id}.pgn")
    return PgnName(found["run"], int(found["task"]))


def run_pgns_name(text: str) -> str:
    """The run id in `{run_id}.pgn.gz`."""
    return _match(_RUN_PGNS, text, "{run_id}.pgn.gz")["run"]


def net_hash(text: str) -> str:
    """The twelve digits in `nn-xxxxxxxxxxxx.nnue`, or all 64 where they are the name."""
    found = _match(_NET, text, "nn-xxxxxxxxxxxx.nnue")
    return found["hash"] or found["whole"]


def _match(pattern: re.Pattern[str], text: str, form: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise BadName(name=text[:100], form=form)
    return found
