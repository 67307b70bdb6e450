"""A fixed number of games on pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rookery.core.model.kinds import Fixed
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.http.pages.formatting import format_count, format_plural
from rookery.server.show.charts import Chart
from rookery.server.show.kinds.kind_page import ComparingPage, draw_elo_chart
from rookery.server.show.run_parts import FormPart
from rookery.server.show.statistics import ShownElo


@dataclass(frozen=True, slots=True)
class FixedPage(ComparingPage):
    """A run of fixed games."""

    form: ClassVar = FormPart("games", "Fixed number of games")
    kind: Fixed

    def describe_question(self, games: int) -> str:
        return format_plural(games, "game")

    def draw_charts(self, points: Sequence[ChartPoint], elo: ShownElo | None) -> tuple[Chart, ...]:
        return (draw_elo_chart(self.kind, points, elo),) if len(points) > 1 else ()

    @staticmethod
    def summarise_fields(texts: Mapping[str, str]) -> str:
        games = texts.get("num_games", "")
        return f"{format_count(int(games)) if games.isdecimal() else games} games" if games else ""
