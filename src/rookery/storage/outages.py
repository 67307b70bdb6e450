"""Whether an error means that the database is away, as opposed to a mistake of ours."""

from traceback import walk_tb

import asyncpg

from rookery.storage.fence import OutcomeUnknown
from rookery.storage.pool import NoConnection

AWAY_FOR_SURE = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
    NoConnection,
    OutcomeUnknown,
)


def is_outage(error: BaseException) -> bool:
    """Sockets and time limits fail in many places: theirs counts where the driver raised it."""
    if isinstance(error, AWAY_FOR_SURE):
        return True
    return isinstance(error, OSError | TimeoutError) and _came_through_driver(error)


def _came_through_driver(error: BaseException) -> bool:
    frames = walk_tb(error.__traceback__)
    return any("asyncpg" in frame.f_code.co_filename for frame, _ in frames)
