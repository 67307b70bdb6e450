"""Documents for tests of Ask: a commit whose fields each test overrides."""

from datetime import UTC, datetime

from rookery.server.ask.passages import Document, PassageKind

RAZORING = Document(
    key="commit:1",
    kind=PassageKind.COMMIT,
    title="Bigger razoring margin",
    body="Razor more at low depth.",
    url="/commits/1",
    engine="owl",
    engines=("owl",),
    time=datetime(2026, 3, 1, tzinfo=UTC),
    commit="1" * 40,
)
