"""Tunes on the wire, under fishtest's names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rookery.core.model.kinds import Fixed, Kind, SpsaTuning
from rookery.core.model.plan import Plan
from rookery.core.model.task import Results
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.kinds.wire import BatchFor, History, Settings
from rookery.core.stats.spsa import Tune, as_lines, new_tune
from rookery.core.stats.spsa_parameters import (
    DEFAULT_A_RATIO,
    DEFAULT_ALPHA,
    DEFAULT_GAMMA,
    Parameter,
    ParameterKind,
    SpsaFault,
    read_lines,
)


class SpsaSettings(Struct, frozen=True, gc=False, kw_only=True):
    """The settings of a tune. `A` is a number of pairs or, below 1, a share of them."""

    algorithm: Literal["classic"] = "classic"
    stability: Annotated[float, Meta(ge=0, le=1e9)] = field(name="A", default=DEFAULT_A_RATIO)
    alpha: float = DEFAULT_ALPHA
    gamma: float = DEFAULT_GAMMA
    raw_params: Annotated[str, Meta(max_length=2**20)]


class ParameterDocument(Struct, frozen=True, gc=False, kw_only=True):
    """One parameter; `type` is there for floats only, which fishtest does not have."""

    name: str
    start: float
    min: float
    max: float
    c_end: float
    r_end: float
    c: float
    a_end: float
    a: float
    theta: float
    type: str | UnsetType = UNSET


class SpsaDocument(SpsaSettings, frozen=True, gc=False, kw_only=True):
    """`args.spsa` in full; the history is empty in one run's document and absent in lists."""

    iter: int
    num_iter: int
    params: tuple[ParameterDocument, ...]
    param_history: History | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class AskedTune:
    """A submission of a tune."""

    kind: ClassVar[type[Kind]] = SpsaTuning
    usual_games: ClassVar[int] = 0
    is_marked_long: ClassVar[bool] = False

    settings: SpsaSettings

    def make(self, plan: Plan, batch_for: BatchFor, checks: Checks) -> Kind:
        del batch_for
        try:
            if plan.games and checks.are_right("num_games"):
                return SpsaTuning(self._make_tune(plan.games))
            read_lines(self.settings.raw_params)
        except SpsaFault as fault:
            checks.require(False, "spsa", str(fault))
        return Fixed()

    def _make_tune(self, games: int) -> Tune:
        """Return the tune; raise SpsaFault."""
        asked, pairs = self.settings, games / 2
        # Half a pair is added so that a whole number survives the division unchanged.
        ratio = asked.stability if asked.stability < 1 else (int(asked.stability) + 0.5) / pairs
        return new_tune(
            asked.raw_params, games, a_ratio=ratio, alpha=asked.alpha, gamma=asked.gamma
        )


def _read_tune(sent: SpsaSettings, _checks: Checks) -> AskedTune:
    return AskedTune(sent)


@dataclass(frozen=True, slots=True)
class SpsaWire:
    """A tune in answers and messages."""

    settings: ClassVar = Settings(SpsaSettings, dict[str, Any], SpsaDocument, _read_tune)
    kind: SpsaTuning

    def document(self, history: History | UnsetType = UNSET) -> Mapping[str, Struct]:
        tune = self.kind.tune
        shown = SpsaDocument(
            stability=tune.schedule.stability,
            alpha=tune.schedule.alpha,
            gamma=tune.schedule.gamma,
            raw_params=raw_parameters(tune),
            iter=tune.iteration,
            num_iter=tune.schedule.iterations,
            params=tuple(map(_parameter, tune.parameters, tune.thetas)),
            param_history=history,
        )
        return {self.kind.settings: shown}

    def list_fishtest_lines(self, results: Results, games: int) -> Iterator[str]:
        tune = self.kind.tune
        yield f"{tune.iteration}/{tune.schedule.iterations} iterations"
        yield f"{results.games}/{games} games played"

    def list_openbench_lines(self, results: Results, conditions: str) -> Iterator[str]:
        tune = self.kind.tune
        yield f"SPSA  | {conditions}"
        yield f"Iters | {tune.iteration} of {tune.schedule.iterations}"
        yield f"Games | N: {results.games}"

    @property
    def question(self) -> str:
        names = ", ".join(parameter.line.name for parameter in self.kind.tune.parameters)
        return f"SPSA tune of {names}."


def _parameter(parameter: Parameter, theta: float) -> ParameterDocument:
    line = parameter.line
    return ParameterDocument(
        name=line.name,
        start=line.start,
        min=line.minimum,
        max=line.maximum,
        c_end=line.c_end,
        r_end=line.r_end,
        c=parameter.c,
        a_end=parameter.a_end,
        a=parameter.a,
        theta=theta,
        type=UNSET if line.kind is ParameterKind.INT else line.kind.value,
    )


def raw_parameters(tune: Tune) -> str:
    """Return the parameters of a tune as lines of text, in normal form."""
    return "\n".join(as_lines(tune, [parameter.line.start for parameter in tune.parameters]))
