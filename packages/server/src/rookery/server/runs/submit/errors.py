"""Finds all errors in the form of a new test, and the input of each.

Reading a submission reports one error at a time. Therefore each wrong value is replaced by a
harmless one and the form is read again, until no further error is found. No other server is asked
for this.
"""

from collections.abc import Collection, Iterator, Mapping

import msgspec

from rookery.core.books import DEMO
from rookery.core.boundary.errors import GateFull
from rookery.core.errors import Fault
from rookery.core.model.kinds import ONE_PROGRAM
from rookery.server.app.site import Site
from rookery.server.http.error_table import REFUSALS
from rookery.server.http.pages.field_words import say_plainly
from rookery.server.people.bearers import Caller
from rookery.server.runs.submissions import prepare_preview
from rookery.server.runs.submit.form import BASE_INPUTS, GROUPS, PLACES, ReadForm

BUSY = "Too many branches are being looked up right now; try again in a moment."
FAULTS: tuple[type[Exception], ...] = (*REFUSALS, GateFull)
"""The errors that the use case raises for a form."""
MOST_ERRORS = 12
ENDING = frozenset({"", "new_engine", "base_engine", "new_binary", "base_binary"})
"""Errors of no single input, and of inputs that determine which others are valid. The search ends
at these."""
BOUNDS: Mapping[str, object] = {"sprt.elo0": 0.0, "sprt.elo1": 2.0}
RATES: Mapping[str, object] = {"sprt.alpha": None, "sprt.beta": None}
REPOSITORIES: Mapping[str, object] = dict.fromkeys(("tests_repo", "new_repo", "base_repo"))
TUNE: Mapping[str, object] = {"spsa": {"raw_params": "a,1,0,2,0.5,0.002"}}
STAND_INS: Mapping[str, Mapping[str, object]] = {
    **dict.fromkeys(BOUNDS, BOUNDS),
    **dict.fromkeys(RATES, RATES),
    **dict.fromkeys(REPOSITORIES, REPOSITORIES),
    **{f"spsa.{name}": TUNE for name in ("raw_params", "A", "alpha", "gamma")},
    **{name: {name: "branch"} for name in ("new_tag", "base_tag")},
    **{name: {name: "1"} for name in ("new_signature", "base_signature")},
    "num_games": {"num_games": 1000},
    "tc": {"tc": "10+0.1", "new_tc": None},
    "book": {"book": DEMO, "book_sri": None},
}
"""Valid values that replace a wrong input and other inputs that depend on it. Inputs without one
are left out, and a group of inputs is left out as a whole."""


def place_fault(fault: Exception) -> dict[str, str]:
    """The message of an error by the name of its input; the name is empty if it belongs to none."""
    if isinstance(fault, GateFull):
        return {"": BUSY}
    fields = fault.fields if isinstance(fault, Fault) else {}
    name, text = str(fields.get("field", "")), str(fields.get("text", "")) or str(fault)
    if name and not fields.get("text"):
        text = str(fault).removeprefix(f"{name}: ")
    if name == "sprt" and "alpha" in text:
        return {"sprt.alpha": text}
    place = PLACES.get(name, name)
    return {place: say_plainly(place, text)}


async def list_errors(
    site: Site, bearer: Caller, read: ReadForm, found: Mapping[str, str]
) -> Mapping[str, str]:
    """All errors of a form by input, including those already found."""
    errors = {**read.errors, **found}
    while len(errors) < MOST_ERRORS and not errors.keys() & ENDING:
        body = msgspec.json.encode(replace_wrong_values(read.fields, errors))
        try:
            await prepare_preview(site, body, bearer, ask_outside=False)
        except FAULTS as fault:
            more = place_fault(fault)
            if more.keys() & (errors.keys() | {""}):
                # Replacing the value did not help, so further errors can't be found.
                break
            errors |= more
        else:
            break
    return {name: say_plainly(name, text) for name, text in errors.items()}


def replace_wrong_values(fields: Mapping[str, object], wrong: Collection[str]) -> dict[str, object]:
    """The fields of a submission with wrong values replaced."""
    laid = {
        name: dict(value) if isinstance(value, dict) else value for name, value in fields.items()
    }
    for name in wrong:
        for place, value in _list_stand_ins(name, is_tune=bool(ONE_PROGRAM & fields.keys())):
            _put(laid, place, value)
    return laid


def _list_stand_ins(name: str, *, is_tune: bool) -> Iterator[tuple[str, object]]:
    """The replacements for a wrong input. None means to leave it out. In a tune the base must be
    like the new side."""
    group, dot, _ = name.partition(".")
    whole = group if dot and group in GROUPS else name
    yield from STAND_INS.get(name, {whole: None}).items()
    twin = name.replace("new", "base")
    if is_tune and twin != name and twin in BASE_INPUTS:
        yield from STAND_INS.get(twin, {twin: None}).items()


def _put(laid: dict[str, object], place: str, value: object) -> None:
    group, dot, inner = place.partition(".")
    held = laid.setdefault(group, {}) if dot else laid
    assert isinstance(held, dict), place
    if value is None:
        held.pop(inner or group, None)
    else:
        held[inner or group] = value
