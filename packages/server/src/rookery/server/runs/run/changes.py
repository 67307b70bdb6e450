"""The form that changes an existing run: the settings that it offers, and reading what was typed.

Its fields have fishtest's names, so that fishtest's scripts and the page here post the same form.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import UNSET, UnsetType, ValidationError, convert

from rookery.core.model.bounds import Paragraph
from rookery.core.model.plan import Modification
from rookery.core.model.run import Run
from rookery.server.farm.rules.lifecycle import GAMES_STEP, MOST_GAMES, Actor
from rookery.server.farm.submission import LEAST_THROUGHPUT, MOST_PRIORITY, MOST_THROUGHPUT
from rookery.server.http.faults import BadRequest
from rookery.server.http.scope import Form

GAMES_FIELD, INFO_FIELD, PURGE_FIELD = "num-games", "info", "auto_purge"
BOUNDS: Mapping[str, tuple[int, int]] = {
    GAMES_FIELD: (0, MOST_GAMES),
    "priority": (-MOST_PRIORITY, MOST_PRIORITY),
    "throughput": (LEAST_THROUGHPUT, MOST_THROUGHPUT),
}
"""The integer fields of the form and their bounds."""
WORDS = {GAMES_FIELD: "number of games"}
TOO_LONG = "The description is too long."


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
    texts: Mapping[str, str]
    """The texts of the fields: the run's settings, or what was typed and refused."""
    purges: bool
    games_step: int
    """The step by which a browser changes the number of games."""
    errors: Mapping[str, str] = field(default_factory=dict)
    most_games: int = MOST_GAMES
    most_priority: int = MOST_PRIORITY
    least_throughput: int = LEAST_THROUGHPUT
    most_throughput: int = MOST_THROUGHPUT

    def text(self, name: str) -> str:
        return self.texts.get(name, "")

    def wrong(self, name: str) -> str:
        return self.errors.get(name, "")

    @property
    def first_wrong(self) -> str:
        """The first field with an error, which gets the focus."""
        return next((name for name in (*BOUNDS, INFO_FIELD) if name in self.errors), "")

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Errors in fields that are not shown to this person."""
        hidden = {GAMES_FIELD: not self.games, INFO_FIELD: not self.info}
        return tuple(text for name, text in self.errors.items() if hidden.get(name, False))


def describe_change(
    run: Run, viewer: Actor | None, refused: RefusedChange | None = None
) -> ChangeForm:
    games = run.plan.games
    sizes = (games - GAMES_STEP, games + GAMES_STEP)
    return ChangeForm(
        games=any(run.kind.resize_objection(games, each) is None for each in sizes),
        info=viewer is not None and viewer.name == run.plan.owner,
        texts=dict(_spell_plan(run) if refused is None else refused.form.fields),
        purges=run.plan.auto_purge if refused is None else _is_purging(refused.form),
        # Browsers accept only multiples of the step, and the run's present number must be valid.
        games_step=1 if games % GAMES_STEP else GAMES_STEP,
        errors={} if refused is None else refused.errors,
    )


def _spell_plan(run: Run) -> Iterator[tuple[str, str]]:
    plan = run.plan
    yield from zip(BOUNDS, map(str, (plan.games, plan.priority, plan.throughput)), strict=True)
    yield INFO_FIELD, plan.info


def read_change(form: Form) -> Modification:
    """The change that was typed. Absent and empty fields change nothing. Raises ChangeRefused with
    all errors."""
    errors = dict(_find_errors(form))
    if errors:
        raise ChangeRefused(errors)
    games, priority, throughput = (_read_number(form, name) for name in BOUNDS)
    return Modification(
        games=games,
        priority=priority,
        throughput=throughput,
        auto_purge=_is_purging(form),
        info=_read_info(form),
    )


def _find_errors(form: Form) -> Iterator[tuple[str, str]]:
    for name, (low, high) in BOUNDS.items():
        try:
            _read_number(form, name)
        except ValueError:
            yield name, f"The {WORDS.get(name, name)} must be a whole number from {low} to {high}."
    try:
        _read_info(form)
    except ValidationError:
        yield INFO_FIELD, TOO_LONG


def _is_purging(form: Form) -> bool:
    return any(name == PURGE_FIELD for name, _ in form.fields)


def _read_info(form: Form) -> str | UnsetType:
    """The typed description. Raises ValidationError."""
    # Browsers send their own line endings.
    text = form.text(INFO_FIELD).replace("\r\n", "\n").strip()
    return convert(text, Paragraph) or UNSET


def _read_number(form: Form, name: str) -> int | UnsetType:
    """The typed integer. Raises ValueError."""
    text, (low, high) = form.text(name).strip(), BOUNDS[name]
    if not text:
        return UNSET
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 10 and low <= int(text) <= high:
        return int(text)
    raise ValueError(text)
