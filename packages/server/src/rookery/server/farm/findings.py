"""Results of jobs and commands, stored as documents by kind and subject."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from rookery.server.db.table import Table

D = TypeVar("D")


class FindingKind(StrEnum):
    """The job or command that stored a document."""

    REVIEW = "review"
    """By run: facts that an approver should know."""
    PROGRESS = "progress"
    """By engine: the sum of its accepted tests."""
    BOOKS = "books"
    """Stored under the empty name: the official books."""
    BACKUP = "backup"
    """Stored under the empty name: the latest backup."""
    INVENTED = "invented"
    """Stored under the empty name: the size of an invented farm."""


class FindingRows(Table):
    """Documents of jobs; each write replaces the whole document."""

    async def save(self, kind: FindingKind, about: str, document: object, now: datetime) -> None:
        text = msgspec.json.encode(document).decode()
        await self._write("findings_save", kind.value, about, text, now)

    async def load(self, kind: FindingKind, about: Collection[str], form: type[D]) -> dict[str, D]:
        """Return the existing documents about these subjects."""
        found = await self._many(_pair, "findings_of", kind.value, list(about))
        return {name: msgspec.json.decode(text, type=form) for name, text in found}


def _pair(about: str, document: str) -> tuple[str, Any]:
    return about, document
