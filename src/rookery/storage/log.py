"""What storage asks of a log: an event with fields, at the level that its name stands for."""

from typing import Protocol

from rookery import logs

WARNINGS = frozenset(
    {
        "backlog_dropped",
        "database_down",
        "database_supervisor_lost",
        "database_supervisor_stuck",
        "database_unreachable",
        "lease_not_released",
        "lease_not_renewed",
        "listening_interrupted",
        "primacy_lost",
        "state_lost",
    }
)
"""Trouble that passes by itself, and that an operator may want to know of."""


class Log(Protocol):
    def __call__(self, event: str, /, **fields: object) -> object: ...


def quiet(_event: str, /, **_fields: object) -> None:
    """For callers who do not want to know."""


def leveled(log: logs.Log) -> Log:
    """Writes events to a log of levels: those in WARNINGS as warnings, the rest as information."""

    def write(event: str, /, **fields: object) -> object:
        return log.warning(event, **fields) if event in WARNINGS else log.info(event, **fields)

    return write
