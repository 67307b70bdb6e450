"""Quotas: how much one user may keep here in nets, programs and books."""

from rookery.core.complaint import Complaint

MB = 10**6


class QuotaExceeded(Complaint):
    """What is given does not fit into what its user may keep here."""

    def __init__(self, *, used: int, allowed: int, size: int) -> None:
        super().__init__(
            f"This takes {_mb(size)} MB, and of the {_mb(allowed)} MB of nets, programs and books"
            f" that you may keep here {_mb(used)} MB are taken. An administrator can allow more."
        )


def check_quota(*, used: int, allowed: int, size: int) -> None:
    """`used` is without what is given now."""
    if used + size > allowed:
        raise QuotaExceeded(used=used, allowed=allowed, size=size)


def _mb(size: int) -> str:
    return f"{size / MB:,.1f}".removesuffix(".0")
