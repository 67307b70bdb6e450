"""Values as jsonb: exact both ways, and never of a form that PostgreSQL refuses.

Workers and people write texts. PostgreSQL knows no NUL and no half of a surrogate pair, and one
such text would make a batch fail that carries the results of many; so they are replaced.
"""

from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_NUL = "\\u0000"
_encode = msgspec.json.Encoder().encode


class Json(Generic[T]):
    """One type of value and its text; made once, since the decoder is worth keeping."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)

    def text(self, value: T) -> str:
        """The value as text that PostgreSQL takes."""
        try:
            text = _encode(value).decode()
        except UnicodeEncodeError:
            text = _NUL  # so that it is looked at below
        if _NUL in text:
            text = _encode(_cleaned(msgspec.to_builtins(value))).decode()
        return text

    def value(self, text: str) -> T:
        return self._decoder.decode(text)

    def converted(self, builtins: object) -> T:
        """The value out of what a text of unknown type was decoded to."""
        found: T = msgspec.convert(builtins, self._kind)
        return found


def clean(text: str) -> str:
    """A text for a column of its own."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", REPLACEMENT).encode("utf-8", "replace").decode()


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_cleaned(each) for each in value]
    return value
