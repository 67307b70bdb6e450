"""The form of a new test after its session has expired: it shows what was typed, to copy or to
continue with.

Nothing that such a form asks for is done. Its texts are shown only to the browser that sent them,
and as plain text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rookery.server.http.session import CSRF_FIELD
from rookery.server.runs.submit.inputs import INPUTS

EXPIRED = (
    "Nothing was submitted: you have logged in again since this form was opened. Your input is"
    " still here; check it and submit it again."
)
BACK = "Your input from before you were logged out is restored; nothing was submitted."
LOGGED_OUT = "You are logged out."
BUTTONS = frozenset({"do", "use", "look"})
"""The names that the buttons of the form post."""
MAIN_NAMES: Mapping[str, str] = {
    "new_engine": "Engine",
    "new_tag": "New",
    "base_tag": "Base",
    "tests_repo": "Repository",
    "info": "Description",
    "new_options": "Options of the new side",
    "base_options": "Options of the base",
    "kind": "Kind",
    "tc": "Time control",
    "spsa.raw_params": "Parameters",
}
"""The inputs that are shown first, with a label if their name says little."""


@dataclass(frozen=True, slots=True)
class KeptForm:
    """The page that is shown instead of the form."""

    shown: tuple[tuple[str, str], ...]
    """The labels and texts of the filled-in inputs."""
    fields: tuple[tuple[str, str], ...]
    """All posted fields, to post them again."""


def keep_form(fields: Sequence[tuple[str, str]]) -> KeptForm:
    """The content of a posted form, without its token and its button."""
    kept = tuple(each for each in fields if each[0] != CSRF_FIELD and each[0] not in BUTTONS)
    texts = dict(reversed(kept))
    order = [*MAIN_NAMES, *(name for name in INPUTS if name not in MAIN_NAMES)]
    shown = ((MAIN_NAMES.get(name, name), texts[name]) for name in order if texts.get(name))
    return KeptForm(tuple(shown), kept)
