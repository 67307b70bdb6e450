"""Parts of a run's pages to which its kind contributes: texts to copy, and inputs of the form of a
new run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rookery.core.stats.sprt import EloModel, Sprt
from rookery.server.http.form import Input
from rookery.server.http.pages.formatting import format_decimal

SCALES = {EloModel.NORMALISED: "nElo", EloModel.LOGISTIC: "Elo", EloModel.BAYES: "BayesElo"}


CopiedText = tuple[str, str, str]
"""The id, the title and the content of a text to copy."""


def spell_bounds(spec: Sprt) -> str:
    return f"[{format_decimal(spec.elo0)}, {format_decimal(spec.elo1)}]"


def name_scale(spec: Sprt) -> str:
    return SCALES[spec.model]


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
