"""UCI options as fields of frozen dataclasses: their declaration, and a changed copy."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Group = TypeVar("Group", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Spin:
    """A whole number between two limits."""

    name: str
    low: int
    high: int

    def declared(self, default: object) -> str:
        return f"option name {self.name} type spin default {default} min {self.low} max {self.high}"

    def parsed(self, text: str) -> int:
        return max(self.low, min(self.high, int(text)))


@dataclass(frozen=True, slots=True)
class Check:
    """On or off."""

    name: str

    def declared(self, default: object) -> str:
        return f"option name {self.name} type check default {'true' if default else 'false'}"

    def parsed(self, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{text!r} is neither true nor false")
        return text.lower() == "true"


class UnknownOption(ValueError):
    """there is no such option"""


# A field's declared type is that of its value, so these return Any as dataclasses.field does.
def spin(name: str, default: int, low: int, high: int) -> Any:
    return dataclasses.field(default=default, metadata={"option": Spin(name, low, high)})


def check(name: str, default: bool) -> Any:
    return dataclasses.field(default=default, metadata={"option": Check(name)})


def declarations(group: type["DataclassInstance"]) -> Iterator[str]:
    """The `option` lines of a group, in the order of its fields."""
    for field in dataclasses.fields(group):
        if (option := field.metadata.get("option")) is not None:
            yield option.declared(field.default)


def changed(group: Group, name: str, text: str) -> Group:
    """A copy with one option set; raises UnknownOption, or ValueError for a wrong value."""
    for field in dataclasses.fields(group):
        option = field.metadata.get("option")
        if option is not None and option.name.lower() == name.lower():
            return dataclasses.replace(group, **{field.name: option.parsed(text)})
    raise UnknownOption(name)
