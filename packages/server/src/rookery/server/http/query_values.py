"""Reads one query parameter by its type: a switch, a choice, a number or a text."""

import enum
import re
import types
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct

from rookery.core.protocol import v1
from rookery.core.protocol.codec import BadName, BadParameter
from rookery.core.protocol.user_queries import parse_integer

SWITCHES = {"true": True, "1": True, "false": False, "0": False}
LARGEST = 2**63 - 1
ReadValue = Callable[[str], object]
T = TypeVar("T")


class Query(Struct, frozen=True):
    """A group of query parameters; each field is one."""


class Paging(Query, frozen=True):
    """Which part of a list is wanted."""

    page: v1.Page = 1
    size: v1.PageSize = 50

    @property
    def first(self) -> int:
        """The number of entries before this page."""
        return (self.page - 1) * self.size

    @property
    def end(self) -> int:
        return self.page * self.size

    def cut(self, found: Sequence[T]) -> tuple[Sequence[T], bool]:
        """The entries of this page, of which one more than fits was read, and whether there are
        more."""
        return found[: self.size], len(found) > self.size


def find_value_reader(name: str, kind: Any) -> ReadValue | None:
    """The function that reads this type, and raises WireFault; None if no query has such a type.

    The bounds of a number, the length of a name and the pattern of a text are those of its Meta;
    its `form`, in the words of a refusal, is in `extra`."""
    plain, meta = _take_apart(kind)
    if plain is bool:
        return lambda text: read_switch(text, name)
    if plain is int:
        least, most = meta.ge or 0, LARGEST if meta.le is None else meta.le
        return lambda text: parse_integer({name: text}, name, least=int(least), most=int(most))
    if plain is str:
        return _find_text_reader(name, meta)
    if isinstance(plain, type) and issubclass(plain, enum.StrEnum):
        return lambda text: _read_choice(text, name, plain)
    return None


def _take_apart(kind: Any) -> tuple[Any, Meta]:
    """The plain type and its bounds, without None."""
    kind = drop_none(kind)
    if get_origin(kind) is Annotated:
        plain, *notes = get_args(kind)
        return plain, next((note for note in notes if isinstance(note, Meta)), Meta())
    return kind, Meta()


def drop_none(kind: Any) -> Any:
    """The type of a parameter that may be left out."""
    if get_origin(kind) in (Union, types.UnionType):
        rest = [each for each in get_args(kind) if each is not types.NoneType]
        return rest[0] if len(rest) == 1 else kind
    return kind


def read_switch(text: str, name: str) -> bool:
    if text not in SWITCHES:
        raise BadParameter(name=name, text="expected true or false")
    return SWITCHES[text]


def _read_choice(text: str, name: str, choices: type[enum.StrEnum]) -> enum.StrEnum:
    words = list(choices)
    if text not in words:
        raise BadParameter(name=name, text=f"expected one of {', '.join(words)}")
    return choices(text)


def _find_text_reader(name: str, meta: Meta) -> ReadValue:
    if meta.pattern is not None:
        pattern, form = re.compile(meta.pattern), (meta.extra or {}).get("form", meta.pattern)
        return lambda text: _read_matching(text, pattern, str(form))
    if meta.max_length is not None:
        longest = meta.max_length
        return lambda text: _read_name(text, name, longest)
    return str


def _read_matching(text: str, pattern: re.Pattern[str], form: str) -> str:
    """A text of this form. An empty one stands for none."""
    if text and not pattern.search(text):
        raise BadName(name=text[:100], form=form)
    return text


def _read_name(text: str, name: str, longest: int) -> str:
    if len(text) > longest or not text.isprintable():
        raise BadParameter(name=name, text="expected a name")
    return text
