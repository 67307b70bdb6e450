"""The form of a new test after its session has ended: what was typed, for somebody to copy or to go
on with, and the words that are said about it.

Nothing that such a form asks for is done. Its texts come from a browser that showed them to nobody
but who typed them; they are shown as texts, and only to that browser.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rookery.pages.submit_form import INPUTS
from rookery.web.session import CSRF_FIELD

EXPIRED = (
    "Nothing was submitted: you have logged in anew since this form was opened. All that you typed"
    " is here; look it over and submit it again."
)
BACK = "What you typed before you were logged out is here again; nothing was submitted."
LOGGED_OUT = "You are logged out."
BUTTONS = frozenset({"do", "use", "look"})
"""What the buttons of the form post."""
MAIN_NAMES: Mapping[str, str] = {
    "new_engine": "Engine",
    "new_tag": "New",
    "base_tag": "Base",
    "tests_repo": "Repository",
    "info": "What it is about",
    "new_options": "Options of the new side",
    "base_options": "Options of the base",
    "kind": "Kind",
    "tc": "Time control",
    "spsa.raw_params": "Parameters",
}
"""What comes first, and how it is called where the name of its input says little."""


@dataclass(frozen=True, slots=True)
class KeptForm:
    """The page that is shown instead of the form."""

    shown: tuple[tuple[str, str], ...]
    """Names and texts of what was filled in."""
    fields: tuple[tuple[str, str], ...]
    """All that was posted, to post it again."""


def keep_form(fields: Sequence[tuple[str, str]]) -> KeptForm:
    """What came with a post, but for its token and for which button was pressed."""
    kept = tuple(each for each in fields if each[0] != CSRF_FIELD and each[0] not in BUTTONS)
    texts = dict(reversed(kept))
    order = [*MAIN_NAMES, *(name for name in INPUTS if name not in MAIN_NAMES)]
    shown = ((MAIN_NAMES.get(name, name), texts[name]) for name in order if texts.get(name))
    return KeptForm(tuple(shown), kept)
