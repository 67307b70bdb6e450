"""Lists that are filtered, sorted and paged by parameters of their address."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from urllib.parse import urlencode

MOST_PAGES = 100_000
NEAR = 2
"""How many page numbers are shown on each side of the current one."""


@dataclass(frozen=True, slots=True)
class ListAddress:
    """The address of a list: its path, filters, sort column and page.

    `sort` is the name of a column, with a minus before it for descending order. Empty values are
    left out of addresses, and a change of anything but the page leads to the first page.
    """

    path: str
    values: Mapping[str, str] = field(default_factory=dict)

    def change(self, **changes: object) -> str:
        """The address with these values changed. An empty value removes a filter."""
        kept = {name: value for name, value in self.values.items() if name != "page"}
        kept |= {name: str(value) for name, value in changes.items()}
        wanted = {name: value for name, value in kept.items() if value}
        if wanted.get("page") == "1":
            del wanted["page"]
        return f"{self.path}?{urlencode(wanted)}" if wanted else self.path

    def sort_by(self, key: str) -> str:
        """The address of the list sorted by a column, or in the opposite direction if it already
        is.

        The first direction is descending.
        """
        return self.change(sort=key if self.values.get("sort") == f"-{key}" else f"-{key}")

    def direction(self, key: str) -> str:
        """The direction in which the list is sorted by this column, as `aria-sort` wants it; empty
        if it is sorted by another one."""
        sort = self.values.get("sort", "")
        return {key: "ascending", f"-{key}": "descending"}.get(sort, "")


def read_page(query: Mapping[str, str]) -> int:
    """The page number in an address. Invalid numbers mean the first page, since people edit
    addresses."""
    text = query.get("page", "")
    if not (text.isascii() and text.isdigit()):
        return 1
    return min(max(1, int(text[:9])), MOST_PAGES)


@dataclass(frozen=True, slots=True)
class Pager:
    """The links below a list (`macros.pages`). `total` is the length of the list, None if it is not
    counted; `more` tells whether there is a next page."""

    address: ListAddress
    page: int
    more: bool
    size: int = 0
    total: int | None = None

    @property
    def needed(self) -> bool:
        """Whether the list has several pages."""
        return self.page > 1 or self.more

    @property
    def first(self) -> int:
        """The number of the first row of the page, counted from 1."""
        return (self.page - 1) * self.size + 1

    @property
    def last(self) -> int:
        """The number of the last row; less than `first` on a page beyond the end."""
        return min(self.page * self.size, self.total or 0)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The first page, the last one and those near the current one; 0 stands for a gap."""
        if self.total is None:
            return ()
        pages = count_pages(self.total, self.size)
        near = range(max(1, self.page - NEAR), min(pages, self.page + NEAR) + 1)
        shown = sorted({1, pages, *near})
        parts = (
            (each,) if each == before + 1 else (0, each) for before, each in pairwise((0, *shown))
        )
        return tuple(chain.from_iterable(parts))


def count_pages(total: int, size: int) -> int:
    return max(1, -(-total // size))


def make_pager(address: ListAddress, page: int, size: int, total: int) -> Pager:
    """The pager of a list of known length."""
    return Pager(address, page, page < count_pages(total, size), size, total)


def make_open_pager(address: ListAddress, page: int, *, more: bool) -> Pager:
    """The pager of a list whose length is not counted."""
    return Pager(address, page, more)
