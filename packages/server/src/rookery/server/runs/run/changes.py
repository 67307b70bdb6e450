"""The form that changes an existing run: the settings that it offers, and reading what was typed.

Its fields have fishtest's names, so that fishtest's scripts and the page here post the same form.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rookery.core.model.actor import Actor
from rookery.core.model.plan import Modification
from rookery.core.model.run import Run
from rookery.server.farm.rules.lifecycle import GAMES_STEP, MOST_GAMES
from rookery.server.farm.submission import LEAST_THROUGHPUT, MOST_PRIORITY, MOST_THROUGHPUT
from rookery.server.http.faults import BadRequest
from rookery.server.http.form import (
    AREA,
    TICK,
    TICKED,
    DeclaredForm,
    Input,
    ShownForm,
    declare,
    whole_from,
)
from rookery.server.http.scope import Form

GAMES_FIELD, INFO_FIELD, PURGE_FIELD = "num-games", "info", "auto_purge"


def _whole(name: str, label: str, low: int, high: int, key: str = "") -> Input:
    wrong = f"The {label} must be a whole number from {low} to {high}."
    more = {"min": low, "max": high, "type": "number", "required": True}
    return Input(name, label, whole_from(low, high), expected=wrong, key=key, more=more)


FORM = DeclaredForm(
    declare(
        _whole(GAMES_FIELD, "number of games", 0, MOST_GAMES, "num_games"),
        _whole("priority", "priority", -MOST_PRIORITY, MOST_PRIORITY),
        _whole("throughput", "throughput", LEAST_THROUGHPUT, MOST_THROUGHPUT),
        Input(INFO_FIELD, "Description", AREA, expected="The description is too long."),
        Input(PURGE_FIELD, "Purge automatically at the end", TICK),
    ),
    {"num_games": GAMES_FIELD},
)


class ChangeRefused(BadRequest):
    """What was typed can't be; `errors` says why, by the name of the field."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """What was typed into a refused form and its errors, to show it again."""

    form: Form
    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChangeForm:
    """The form of a run's settings, as far as this person may change them."""

    games: bool
    """Whether this person may change the planned number of games."""
    info: bool
    """Whether this person may change the description."""
    form: ShownForm
    """The run's settings, or what was typed and refused."""
    games_step: int
    """The step by which a browser changes the number of games."""

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Errors in fields that are not shown to this person."""
        hidden = {GAMES_FIELD: not self.games, INFO_FIELD: not self.info}
        return tuple(text for name, text in self.form.errors.items() if hidden.get(name, False))


def describe_change(
    run: Run, viewer: Actor | None, refused: RefusedChange | None = None
) -> ChangeForm:
    games, form = run.plan.games, FORM.show(_spell_plan(run))
    if refused is not None:
        form = FORM.show(_read_texts(refused.form), refused.errors)
    sizes = (games - GAMES_STEP, games + GAMES_STEP)
    return ChangeForm(
        games=any(run.kind.resize_objection(games, each) is None for each in sizes),
        info=viewer is not None and viewer.name == run.plan.owner,
        form=form,
        # Browsers accept only multiples of the step, and the run's present number must be valid.
        games_step=1 if games % GAMES_STEP else GAMES_STEP,
    )


def _spell_plan(run: Run) -> dict[str, str]:
    plan = run.plan
    values = (plan.games, plan.priority, plan.throughput, plan.info, plan.auto_purge)
    return FORM.spell(dict(zip(FORM.inputs, values, strict=True)))


def read_change(form: Form) -> Modification:
    """The change that was typed. Absent and empty fields change nothing. Raises ChangeRefused with
    all errors."""
    read = FORM.read(Modification, _read_texts(form))
    if read.value is None:
        raise ChangeRefused(read.errors)
    return read.value


def _read_texts(form: Form) -> dict[str, str]:
    """The typed texts. A checkbox is on if it is posted at all."""
    return {name: TICKED if name == PURGE_FIELD else text for name, text in form.texts().items()}
