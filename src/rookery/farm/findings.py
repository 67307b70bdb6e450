"""What jobs and commands found out, as rows: a document by job and by what it is about."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from rookery.db.table import Table

D = TypeVar("D")


class FindingKind(StrEnum):
    """Which job found it out."""

    REVIEW = "review"
    """By run: what an approver should know."""
    PROGRESS = "progress"
    """By engine: what its accepted tests add up to."""
    BOOKS = "books"
    """Under an empty name: the official books."""
    BACKUP = "backup"
    """Under an empty name: the latest backup."""
    INVENTED = "invented"
    """Under an empty name, of a farm that a command made up: how large it is."""


class FindingRows(Table):
    """Documents of jobs. Each is written as a whole, in the place of the one before."""

    async def save(self, kind: FindingKind, about: str, document: object, now: datetime) -> None:
        text = msgspec.json.encode(document).decode()
        await self._write("findings_save", kind.value, about, text, now)

    async def load(self, kind: FindingKind, about: Collection[str], form: type[D]) -> dict[str, D]:
        """Those that there are, by what they are about."""
        found = await self._many(_pair, "findings_of", kind.value, list(about))
        return {name: msgspec.json.decode(text, type=form) for name, text in found}


def _pair(about: str, document: str) -> tuple[str, Any]:
    return about, document
