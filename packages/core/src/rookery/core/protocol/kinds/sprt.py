"""Sequential tests on the wire, under fishtest's names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType, defstruct
from msgspec.structs import asdict, fields, replace

from rookery.core.model.bounds import Positive
from rookery.core.model.kinds import Kind, SprtTest
from rookery.core.model.plan import Plan
from rookery.core.model.task import Results
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.codec import to_finite
from rookery.core.protocol.kinds.wire import (
    BatchFor,
    History,
    Settings,
    count_for_openbench,
    count_games,
    measure_for_openbench,
)
from rookery.core.stats.numbers import StatisticsFault
from rookery.core.stats.sprt import (
    DEFAULT_RATE,
    Overshoot,
    Sprt,
    Verdict,
    check_bounds,
    check_rates,
)

USUAL_GAMES = 800_000
MOST_BATCH_PAIRS = 100_000

_OPTIONAL = {
    "model": Literal["normalized"] | UnsetType,
    "alpha": float | UnsetType,
    "beta": float | UnsetType,
    "batch_size": Positive | UnsetType,
}
SubmittedSprt = defstruct(
    "SubmittedSprt",
    [
        (info.encode_name, info.type)
        if info.required
        else (info.encode_name, _OPTIONAL[info.name], UNSET)
        for info in fields(Sprt)
    ],
    frozen=True,
    kw_only=True,
)
"""The settings of a sequential test; keys that only answers have are ignored."""


class SprtTask(Struct, frozen=True, gc=False, kw_only=True):
    """`args.sprt` for a worker, which needs only the pairs per report."""

    batch_size: Positive = 1


class SprtDocument(Sprt, frozen=True, gc=False, kw_only=True):
    """`args.sprt`: the test and its state, with exactly one of `overshoot` and `lost_samples`."""

    state: Verdict
    llr: float
    lower_bound: float
    upper_bound: float
    overshoot: Overshoot | UnsetType = UNSET
    lost_samples: int | UnsetType = UNSET
    illegal_update: int | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class AskedSprt:
    """A submission of a sequential test."""

    kind: ClassVar[type[Kind]] = SprtTest
    usual_games: ClassVar[int] = USUAL_GAMES
    is_marked_long: ClassVar[bool] = True

    spec: Sprt
    chooses_batch: bool
    """Whether the author chose the pairs per report."""

    def make(self, plan: Plan, batch_for: BatchFor, checks: Checks) -> SprtTest:
        del plan
        good = not self.chooses_batch or self.spec.batch_size <= MOST_BATCH_PAIRS
        checks.require(good, "sprt.batch_size", f"expected 1 to {MOST_BATCH_PAIRS} pairs")
        if self.chooses_batch or checks.faults:
            return SprtTest(self.spec)
        return SprtTest(replace(self.spec, batch_size=batch_for(self.spec)))


def read_sprt(sent: Struct, checks: Checks) -> AskedSprt | None:
    """Return the settings that were sent, unless they are wrong."""
    given = {name: value for name, value in asdict(sent).items() if value is not UNSET}
    given.pop("elo_model", None)
    rates = [given.get(name, DEFAULT_RATE) for name in ("alpha", "beta")]
    for place, check, values in (
        ("sprt.elo1", check_bounds, (given["elo0"], given["elo1"])),
        ("sprt.alpha", check_rates, rates),
    ):
        try:
            check(*values)
        except StatisticsFault as fault:
            checks.require(False, place, str(fault))
    return AskedSprt(Sprt(**given), "batch_size" in given) if checks.are_right("sprt") else None


@dataclass(frozen=True, slots=True)
class SprtWire:
    """A sequential test in answers and messages."""

    settings: ClassVar = Settings(SubmittedSprt, SprtTask, SprtDocument, read_sprt)
    kind: SprtTest

    def document(self, history: History | UnsetType = UNSET) -> Mapping[str, Struct]:
        del history
        spec, state = self.kind.spec, self.kind.state
        shown = SprtDocument(
            **asdict(spec),
            state=state.verdict,
            llr=to_finite(state.llr),
            lower_bound=spec.lower,
            upper_bound=spec.upper,
            overshoot=state.overshoot or UNSET,
            lost_samples=state.lost_samples if state.overshoot is None else UNSET,
            illegal_update=UNSET if state.illegal_update is None else state.illegal_update,
        )
        return {self.kind.settings: shown}

    def list_fishtest_lines(self, results: Results, games: int) -> Iterator[str]:
        del games
        spec = self.kind.spec
        bounds = f"({spec.lower:.2f},{spec.upper:.2f}) <{spec.elo0:.2f},{spec.elo1:.2f}>"
        yield f"LLR: {self.kind.llr:z.2f} {bounds}"
        yield from count_games(results)

    def list_openbench_lines(self, results: Results, conditions: str) -> Iterator[str]:
        spec = self.kind.spec
        bounds = f"({spec.lower:.2f}, {spec.upper:.2f}) [{spec.elo0:.2f}, {spec.elo1:.2f}]"
        yield from measure_for_openbench(results)
        yield f"SPRT  | {conditions}"
        yield f"LLR   | {self.kind.llr:z.2f} {bounds}"
        yield from count_for_openbench(results)

    @property
    def question(self) -> str:
        spec = self.kind.spec
        what = "simplification, no regression" if self.kind.is_simplification else "gain"
        return f"Test for a {what} by SPRT with bounds [{spec.elo0:g}, {spec.elo1:g}]."
