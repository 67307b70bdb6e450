"""How pages show a kind of test: one protocol, and what kinds share that measure an Elo."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Protocol

from rookery.core.model.kinds import Kind
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.http.pages.formatting import format_elo_interval, format_plural
from rookery.server.show.charts import Chart, ReferenceLine, draw_chart, make_scale, place
from rookery.server.show.run_parts import CopiedText, FormPart
from rookery.server.show.statistics import ShownElo, show_elo

WIDEST = 2.5
"""Elo bands up to this many times as wide as the last one are shown whole, as in run_charts.js."""


class KindPage(Protocol):
    """A run's kind and its state as pages show them."""

    form: ClassVar[FormPart]
    hidden_tabs: ClassVar[frozenset[str]]
    """The pages of a run that this kind does not have."""
    contributions_note: ClassVar[str]
    """A note below the tables of contributions."""

    @property
    def verdict_note(self) -> str:
        """A note about the verdict; empty without one."""

    def describe_question(self, games: int) -> str:
        """What a test of so many games asks, short enough for a column."""

    def describe_aim(self, new: str, base: str) -> str:
        """The beginning of a sentence: what the run does with programs of these names."""

    def describe_length(self, games: int) -> str:
        """The end of that sentence: how long it plays."""

    def list_texts(self) -> Iterator[CopiedText]:
        """Texts to copy in place of the result."""

    def draw_charts(self, points: Sequence[ChartPoint], elo: ShownElo | None) -> tuple[Chart, ...]:
        """The charts of what it measures; `elo` is the estimate that the page shows."""

    def list_fields(self) -> Mapping[str, object]:
        """The settings of a submission for a run like this one."""

    @staticmethod
    def summarise_fields(texts: Mapping[str, str]) -> str:
        """The settings in the form in a few words; empty without any."""

    @staticmethod
    def describe_preset(settings: Mapping[str, object]) -> tuple[str, str]:
        """The settings of an engine's preset, with a label."""


class ComparingPage:
    """Defaults: a test that measures one program against another."""

    __slots__ = ()
    hidden_tabs: ClassVar[frozenset[str]] = frozenset()
    contributions_note: ClassVar[str] = ""

    @property
    def verdict_note(self) -> str:
        return ""

    def describe_aim(self, new: str, base: str) -> str:
        return f"Measures {new} against {base}"

    def describe_length(self, games: int) -> str:
        return f"for at most {format_plural(games, 'game')}"

    def list_texts(self) -> Iterator[CopiedText]:
        yield from ()

    def list_fields(self) -> Mapping[str, object]:
        return {}

    @staticmethod
    def describe_preset(settings: Mapping[str, object]) -> tuple[str, str]:
        return "settings", ", ".join(f"{part} {value}" for part, value in settings.items())


def draw_elo_chart(kind: Kind, points: Sequence[ChartPoint], elo: ShownElo | None) -> Chart:
    """Elo with its 95 % band. Early estimates vary widely, so only bands up to WIDEST times as wide
    as the last one determine the scale."""
    found = [(float(one.games), show_elo(kind.estimate_at(one.pentanomial))) for one in points]
    if elo is not None:
        found[-1] = found[-1][0], elo
    line = [(x, each.middle) for x, each in found]
    last = found[-1][1]
    most = WIDEST * (last.high - last.low)
    steady = [each for _, each in found if each.high - each.low <= most]
    low, high = min(each.low for each in steady), max(each.high for each in steady)
    scale = make_scale(line[-1][0], min(0.0, low), max(0.0, high))
    edges = [(x, each.high) for x, each in found] + [(x, each.low) for x, each in reversed(found)]
    return draw_chart(
        "elo",
        "Elo over games",
        scale,
        line,
        band=scale.path(edges) + "Z",
        rules=(ReferenceLine(place(scale.y(0.0))),),
        last=format_elo_interval(last.middle, last.low, last.high),
    )
