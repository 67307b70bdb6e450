"""Lists that are filtered, sorted and paged by parameters of their address."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from rookery.server.http.pages.formatting import format_count

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
class PageNumber:
    """A number in the pager, or a gap. Without an address it is not a link."""

    word: str
    address: str = ""
    current: bool = False


@dataclass(frozen=True, slots=True)
class Pager:
    """The links below a list. Nothing is shown if the list fits on one page."""

    text: str = ""
    earlier: str = ""
    later: str = ""
    numbers: tuple[PageNumber, ...] = ()

    @property
    def needed(self) -> bool:
        return bool(self.earlier or self.later)


def make_pager(address: ListAddress, page: int, size: int, total: int) -> Pager:
    """The pager of a list of known length."""
    pages = max(1, -(-total // size))
    first, last = (page - 1) * size + 1, min(page * size, total)
    shown = f"{format_count(first)} to {format_count(last)}" if first <= last else "none"
    return Pager(
        f"{shown} of {format_count(total)}",
        address.change(page=page - 1) if page > 1 else "",
        address.change(page=page + 1) if page < pages else "",
        tuple(_list_numbers(address, page, pages)),
    )


def make_open_pager(address: ListAddress, page: int, *, more: bool) -> Pager:
    """The pager of a list whose length is not counted. `more` tells whether there is a next
    page."""
    return Pager(
        f"page {format_count(page)}" if page > 1 or more else "",
        address.change(page=page - 1) if page > 1 else "",
        address.change(page=page + 1) if more else "",
    )


def _list_numbers(address: ListAddress, page: int, pages: int) -> list[PageNumber]:
    near = range(max(1, page - NEAR), min(pages, page + NEAR) + 1)
    found: list[PageNumber] = []
    before = 0
    for number in sorted({1, pages, *near}):
        if number > before + 1:
            found.append(PageNumber("…"))
        here = number == page
        link = "" if here else address.change(page=number)
        found.append(PageNumber(format_count(number), link, here))
        before = number
    return found
