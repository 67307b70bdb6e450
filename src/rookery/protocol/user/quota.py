"""The server's own quota with GitHub, as rate_limit shows it."""

from msgspec import Struct, field


class QuotaDocument(Struct, frozen=True, gc=False, kw_only=True):
    """Calls allowed, left and made, and when the count starts anew (UNIX seconds)."""

    limit: int
    remaining: int
    reset: int
    used: int
    resource: str = "core"
    uninitialized: bool = field(name="_uninitialized")
