"""What every answer tells that is a page of a longer list."""

from msgspec import Struct


class PageOf(Struct, frozen=True, kw_only=True):
    """Which page it is, and whether there is one after it."""

    page: int
    more: bool
