"""Dates as documents carry them: `2026-08-22 08:16:56.123000+00:00`."""

from datetime import UTC, datetime


def rendered(moment: datetime) -> str:
    """The moment in UTC, always with its fraction, so that texts sort as moments do."""
    return moment.astimezone(UTC).isoformat(sep=" ", timespec="microseconds")
