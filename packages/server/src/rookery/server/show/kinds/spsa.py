"""Tunes on pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rookery.core.model.kinds import SpsaTuning
from rookery.core.protocol.kinds.spsa import raw_parameters
from rookery.core.stats.spsa import Tune, as_lines, as_pairs, as_setoption, late_mean
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.http.form import AREA, NUMBER, Input, declare
from rookery.server.http.pages.drawing import Point
from rookery.server.http.pages.formatting import format_plural
from rookery.server.show.charts import Chart, ReferenceLine, draw_chart, make_scale, place
from rookery.server.show.kinds.kind_page import ComparingPage
from rookery.server.show.run_parts import CopiedText, FormPart
from rookery.server.show.statistics import ShownElo

MOST_PATHS = 40
"""How many parameters of a tune are drawn. The table below the chart has all of them."""
FORM = FormPart(
    "spsa",
    "Tune parameters (SPSA)",
    declare(
        Input(
            "spsa.raw_params",
            "Parameters, one per line: name,start,min,max,c_end,r_end",
            AREA,
            style="field-wide",
            more={"rows": 6, "placeholder": "RazorMargin,500,300,700,25,0.002"},
        ),
        Input("spsa.A", "A: share of the games, or pairs", NUMBER),
        Input("spsa.alpha", "alpha", NUMBER),
        Input("spsa.gamma", "gamma", NUMBER),
    ),
    folded=frozenset({"spsa.A", "spsa.alpha", "spsa.gamma"}),
    error_input="spsa.raw_params",
)


@dataclass(frozen=True, slots=True)
class SpsaPage(ComparingPage):
    """A tune, which plays one program against itself and measures no Elo."""

    form: ClassVar = FORM
    hidden_tabs: ClassVar = frozenset({"elo", "stats", "compare"})
    kind: SpsaTuning

    def describe_question(self, games: int) -> str:
        del games
        return f"tune of {format_plural(len(self.kind.tune.parameters), 'parameter')}"

    def describe_aim(self, new: str, base: str) -> str:
        del base
        return f"Tunes {format_plural(len(self.kind.tune.parameters), 'parameter')} of {new}"

    def describe_length(self, games: int) -> str:
        return f"over {format_plural(games, 'game')}"

    def list_texts(self) -> Iterator[CopiedText]:
        """The present values of a tune and, steadier, their means over the last fifth of it."""
        tune, late = self.kind.tune, late_mean(self.kind.tune)
        for name, title, lines in (
            ("values", "Values now", as_pairs(tune, tune.thetas)),
            ("late", "Mean of the last fifth", as_pairs(tune, late)),
            ("options", "As UCI commands", as_setoption(tune, tune.thetas)),
            ("lines", "As lines for the next tune", as_lines(tune, late)),
        ):
            yield f"text-{name}", title, "\n".join(lines)

    def draw_charts(self, points: Sequence[ChartPoint], elo: ShownElo | None) -> tuple[Chart, ...]:
        del points, elo
        return _draw_path_chart(self.kind.tune)

    def list_fields(self) -> Mapping[str, object]:
        schedule = self.kind.tune.schedule
        return {
            "A": schedule.stability / max(1, schedule.iterations),
            "alpha": schedule.alpha,
            "gamma": schedule.gamma,
            "raw_params": raw_parameters(self.kind.tune),
        }

    @staticmethod
    def summarise_fields(texts: Mapping[str, str]) -> str:
        del texts
        return "tune"

    @staticmethod
    def describe_preset(settings: Mapping[str, object]) -> tuple[str, str]:
        return "tune", ", ".join(f"{part} {value}" for part, value in settings.items())


def _draw_path_chart(tune: Tune) -> tuple[Chart, ...]:
    """The changes of tuned parameters, in per cent of their ranges so that all fit one scale."""
    points = [*tune.history]
    if not points:
        return ()
    every = tune.iteration / len(points)
    paths = [_follow_parameter(tune, number, every) for number in range(len(tune.parameters))]
    shown = sorted(paths, key=lambda path: -abs(path[-1][1]))[:MOST_PATHS]
    ends = [y for path in shown for _, y in path]
    scale = make_scale(float(max(1, tune.iteration)), min(ends), max(ends))
    moved = format_plural(len(shown), "parameter")
    chart = draw_chart(
        "paths",
        "Parameters over iterations, moved by % of their range",
        scale,
        shown[0],
        others=tuple(scale.path(path) for path in shown[1:]),
        rules=(ReferenceLine(place(scale.y(0.0))),),
        last=moved,
    )
    return (chart,)


def _follow_parameter(tune: Tune, number: int, every: float) -> list[Point]:
    line = tune.parameters[number].line
    values = [line.start, *(point[number].theta for point in tune.history), tune.thetas[number]]
    reach = max(line.maximum - line.minimum, 1e-9) / 100
    last = len(values) - 1
    return [
        (float(tune.iteration) if at == last else every * at, (value - line.start) / reach)
        for at, value in enumerate(values)
    ]
