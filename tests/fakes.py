"""Fakes for the web app: a clock that is set by hand, and a log that records."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

START = datetime(2030, 1, 1, tzinfo=UTC)


class HandClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.passed)

    def seconds(self) -> float:
        return self.passed

    def move(self, **span: float) -> None:
        self.passed += timedelta(**span).total_seconds()


@dataclass
class RecordedLog:
    """A log that keeps every line as (event, fields)."""

    lines: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def _record(self, event: str, /, **fields: object) -> None:
        self.lines.append((event, fields))

    debug = info = warning = error = _record

    def events(self) -> list[str]:
        return [event for event, _ in self.lines]

    def fields(self, event: str) -> dict[str, object]:
        """The fields of the last line of that event."""
        return next(fields for name, fields in reversed(self.lines) if name == event)
