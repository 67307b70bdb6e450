"""Parts of a run's pages to which its kind contributes: rows of a table, groups of figures, texts
to copy, parameters, and inputs of the form of a new run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rookery.core.stats.sprt import EloModel
from rookery.server.http.form import Input

SCALES = {EloModel.NORMALISED: "nElo", EloModel.LOGISTIC: "Elo", EloModel.BAYES: "BayesElo"}


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A row of a table. `link` is an address with details, or empty."""

    name: str
    text: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """Related figures under a heading."""

    title: str
    figures: tuple[NamedValue, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class CopiedText:
    """A text to copy, and its title."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """A parameter of a tune."""

    name: str
    start: str
    now: str
    moved: str
    range: str
    path: str
    """The parameter's course, as a line in a drawing of 100 by 20."""


@dataclass(frozen=True, slots=True)
class FormPart:
    """What the form of a new run has for one kind of it."""

    choice: str
    """The value with which the kind is chosen."""
    label: str
    inputs: Mapping[str, Input] = field(default_factory=dict)
    """Its inputs, with the group's name before a dot."""
    folded: frozenset[str] = frozenset()
    """Those that most tests do not change."""
    error_input: str = ""
    """The input beside which an error of the whole group is shown."""
