"""What every kind of test has on the wire, behind two protocols: the settings that a submission
asks for, and what answers and messages say of a run."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

from msgspec import UNSET, Struct, UnsetType

from rookery.core.model.kinds import Kind
from rookery.core.model.plan import Plan
from rookery.core.model.task import Results
from rookery.core.protocol.checks import Checks
from rookery.core.stats.elo import estimate_elo
from rookery.core.stats.likelihood import normalised_elo
from rookery.core.stats.sprt import Sprt
from rookery.core.stats.spsa import ParameterSample

History = tuple[tuple[ParameterSample, ...], ...]
BatchFor = Callable[[Sprt], int]
"""The pairs per report that fit a sequential test, where its author chose none."""


class AskedKind(Protocol):
    """The kind of run that a submission asks for, with its settings."""

    kind: ClassVar[type[Kind]]
    usual_games: ClassVar[int]
    """The number of games where the submission has none; 0 if it must have one."""
    is_marked_long: ClassVar[bool]
    """Whether its description says so where its games take long."""

    def make(self, plan: Plan, batch_for: BatchFor, checks: Checks) -> Kind:
        """Return the kind at the start of the run; if anything is wrong, perhaps another one."""


class Settings(NamedTuple):
    """The types of a kind's settings in a submission, in a worker's task and in an answer, and how
    a submission is read."""

    submitted: Any
    task: Any
    answer: type[Struct]
    read: Callable[[Any, Checks], AskedKind | None]


class KindWire(Protocol):
    """A run's kind and its state as answers and messages have them."""

    settings: ClassVar[Settings | None]

    def document(self, history: History | UnsetType = UNSET) -> Mapping[str, Struct]:
        """Return the part of a run's arguments, under the key of its settings."""

    def list_fishtest_lines(self, results: Results, games: int) -> Iterator[str]:
        """Return the result of a run of `games` games in fishtest's style."""

    def list_openbench_lines(self, results: Results, conditions: str) -> Iterator[str]:
        """Return the result in OpenBench's style."""

    @property
    def question(self) -> str:
        """What is asked, as a sentence in words that people search for."""


# Lines that kinds with a score share.


def count_games(results: Results) -> Iterator[str]:
    yield f"Total: {results.games} W: {results.wins} L: {results.losses} D: {results.draws}"
    yield f"Ptnml(0-2): {', '.join(map(str, results.pentanomial))}"


def measure_pairs(results: Results) -> str:
    """Return the normalised Elo, and how often pairs were won rather than lost."""
    found = normalised_elo(results.pentanomial)
    p = results.pentanomial
    lost, won = p[0] + p[1], p[3] + p[4]
    ratio = f"{won / lost:.2f}" if lost else "inf"
    return f"nElo: {found.nelo:z.2f} ± {found.half_width:.1f} (95%) PairsRatio: {ratio}"


def measure_for_openbench(results: Results) -> Iterator[str]:
    if results.games:
        found = estimate_elo(results.pentanomial)
        yield f"Elo   | {found.elo:z.2f} +- {found.half_width:.2f} (95%)"


def count_for_openbench(results: Results) -> Iterator[str]:
    yield f"Games | N: {results.games} W: {results.wins} L: {results.losses} D: {results.draws}"
    yield f"Penta | [{', '.join(map(str, results.pentanomial))}]"
