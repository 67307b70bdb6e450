"""A tune as documents show it."""

from msgspec import UNSET, Struct, UnsetType, field

from rookery.core.spsa import Kind, Parameter, Sample, Tune
from rookery.protocol.run_args import SpsaMark


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


class SampleDocument(Struct, frozen=True, gc=False):
    """One parameter at one moment."""

    theta: float
    r: float = field(name="R")
    c: float


History = tuple[tuple[SampleDocument, ...], ...]


class SpsaDocument(SpsaMark, frozen=True, gc=False, kw_only=True):
    """`args.spsa` in full; the history is empty in one run's document and absent in lists."""

    algorithm: str = "classic"
    stability: int = field(name="A")
    alpha: float
    gamma: float
    raw_params: str
    iter: int
    num_iter: int
    params: tuple[ParameterDocument, ...]
    param_history: History | UnsetType = UNSET


def spsa_document(
    tune: Tune, raw_params: str, history: History | UnsetType = UNSET
) -> SpsaDocument:
    """The tune in fishtest's words."""
    return SpsaDocument(
        stability=tune.schedule.stability,
        alpha=tune.schedule.alpha,
        gamma=tune.schedule.gamma,
        raw_params=raw_params,
        iter=tune.iteration,
        num_iter=tune.schedule.iterations,
        params=tuple(map(_parameter, tune.parameters, tune.thetas)),
        param_history=history,
    )


def history_of(tune: Tune) -> History:
    """The whole history, for those who draw it."""
    return tuple(tuple(map(_sample, row)) for row in tune.history)


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
        type=UNSET if line.kind is Kind.INT else line.kind.value,
    )


def _sample(sample: Sample) -> SampleDocument:
    return SampleDocument(sample.theta, sample.r, sample.c)
