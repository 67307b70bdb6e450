"""Counts the statements that a call sends to PostgreSQL, and those of nobody else: jobs of the same
process run in contexts of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from unittest.mock import patch

from asyncpg.connection import Connection

SENDING = "_execute"
"""What every fetch of asyncpg goes through."""
_SENT: ContextVar[list[str] | None] = ContextVar("sent", default=None)


@contextmanager
def counted_statements() -> Iterator[list[str]]:
    """The statements that are sent within the block, in their order, as far as it awaits them."""
    sent: list[str] = []
    mark = _SENT.set(sent)
    try:
        yield sent
    finally:
        _SENT.reset(mark)


@contextmanager
def noted_statements() -> Iterator[None]:
    """Lets connections note what they send; to be entered before the first is counted."""
    with patch.object(Connection, SENDING, _noting(getattr(Connection, SENDING))):
        yield


def _noting(send: Any) -> Any:
    async def noted(self: Any, query: str, *args: Any, **kwargs: Any) -> Any:
        sent = _SENT.get()
        if sent is not None:
            sent.append(query)
        return await send(self, query, *args, **kwargs)

    return noted
