"""Explains errors in fields of the wire formats in plain words, for people who fill in forms."""

import re
from collections.abc import Mapping

FORMS: Mapping[str, str] = {
    "name": "A name starts with a letter or digit and has up to 60 letters, digits, spaces and"
    " . _ + -. The name of a team's engine may start with TEAM~.",
    "branch": "A branch name starts with a letter, digit or _ and has no spaces.",
    "new_binary": "Choose one of the programs.",
    "base_binary": "Choose one of the programs.",
    "rescheduled_from": "Expected the id of a test, which has 24 hex digits.",
}
"""The allowed texts of inputs that must match a pattern, by the name of the input."""
OTHER_FORM = "This does not have the right format."
NEEDED = "This is required."
MISSING, EXPECTED = "is missing", "expected "
"""How the wire formats speak of a field that is not there, and of most others."""
_FORM = re.compile(r"expected str matching regex ", re.ASCII)
_LENGTH = re.compile(r"expected str of length ([<>]=) (\d+)", re.ASCII)
_LIMIT = re.compile(r"expected (int|float) ([<>]=?) (-?[\d.]+)", re.ASCII)
_KIND = re.compile(r"expected (int|float)\b", re.ASCII)
_CHOICE = re.compile(r"invalid enum value (.+)", re.ASCII)
_LIMITS = {">=": "from {} on", "<=": "up to {}", ">": "above {}", "<": "below {}"}
_NUMBERS = {"int": "a whole number", "float": "a number"}


def say_plainly(name: str, text: str) -> str:
    """The message beside an input. A message that is already plain is not changed."""
    if _FORM.match(text):
        return FORMS.get(name, OTHER_FORM)
    if found := _LENGTH.match(text):
        return NEEDED if found[1] == ">=" else f"Expected {found[2]} characters at most."
    if found := _LIMIT.match(text):
        limit = _LIMITS[found[2]].format(f"{float(found[3]):,.15g}")
        return f"Expected {_NUMBERS[found[1]]} {limit}."
    if found := _KIND.match(text):
        return f"Expected {_NUMBERS[found[1]]}."
    if found := _CHOICE.match(text):
        return f"{found[1]} is not one of the choices."
    if text == MISSING:
        return NEEDED
    if text.startswith(EXPECTED):
        return f"{text[:1].upper()}{text[1:].rstrip('.')}."
    return text
