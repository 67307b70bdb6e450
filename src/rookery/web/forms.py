"""Form posts as typed values: names and texts, nothing nested, nothing guessed."""

from dataclasses import dataclass
from urllib.parse import parse_qsl

from rookery.web.faults import MalformedForm

FORM_TYPE = "application/x-www-form-urlencoded"
MOST_FIELDS = 1000


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of one post, in their order; a name may come twice."""

    fields: tuple[tuple[str, str], ...] = ()

    def text(self, name: str) -> str:
        """The first value of that name, or an empty text."""
        return next((value for key, value in self.fields if key == name), "")

    def ticked(self, name: str) -> bool:
        """A checkbox is posted when it is on, and not at all otherwise."""
        return any(key == name and value for key, value in self.fields)


def parse_form(body: bytes) -> Form:
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise MalformedForm from error
    if any("\0" in name or "\0" in value for name, value in pairs):
        raise MalformedForm
    return Form(tuple(pairs))
