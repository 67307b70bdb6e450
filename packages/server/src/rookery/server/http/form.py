"""Forms of pages: each is declared once, read in one pass, and shown again as it was typed.

An input has the name of its field, with a dot for one in a group (`sprt.elo0`). Its kind says how
its text becomes a value and back; the limits of values are those of the Struct that is read.
`form_inputs.html` shows an input with its error beside it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct

from rookery.core.protocol.checks import Checks, find_field, read_fields
from rookery.core.protocol.codec import BadField, WireFault
from rookery.server.http.pages.field_words import say_plainly

T = TypeVar("T", bound=Struct)
Texts = Mapping[str, str]
"""The texts of inputs by name. A ticked checkbox has `1`."""
TICKED = "1"
WHOLE_NUMBER = "expected a whole number"
NUMBER_WORDS = "expected a number"
NO_PAIR = "expected a line such as Name = value"
LARGEST = 10**15
_WHOLE = re.compile(r"-?[0-9]{1,15}|-?[0-9]{1,3}(?:[,_][0-9]{3}){1,4}", re.ASCII)
_GROUPED = re.compile(r"[,_](?=[0-9]{3}(?![0-9]))", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)


# The kinds of inputs.


def spell_value(value: object) -> str:
    """The text of a value of any kind."""
    match value:
        case bool():
            return TICKED if value else ""
        case float():
            return str(int(value)) if value.is_integer() else f"{value:.10g}"
        case Mapping():
            return "\n".join(f"{name} = {text}" for name, text in value.items())
        case list() | tuple():
            return " ".join(map(str, value))
        case _:
            return str(value)


@dataclass(frozen=True, slots=True)
class InputKind:
    """How a text becomes a value, and a value a text. `read` raises ValueError with what is wrong;
    it never gets an empty text, whose value is `empty`."""

    read: Callable[[str], object]
    spell: Callable[[Any], str] = spell_value
    control: Literal["line", "area", "tick"] = "line"
    mode: str = "text"
    empty: object = None


def _read_whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError(WHOLE_NUMBER)
    return int(text.replace(",", "").replace("_", ""))


def _read_number(text: str) -> float:
    plain = _GROUPED.sub("", text)
    found = float(plain) if len(plain) < 40 and _NUMBER.fullmatch(plain) else None
    if found is None or abs(found) > LARGEST:
        raise ValueError(NUMBER_WORDS)
    return int(found) if found.is_integer() else found


def list_lines(text: str) -> list[str]:
    """The lines that hold something."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_pairs(text: str) -> dict[str, str]:
    return dict(map(_read_pair, list_lines(text)))


def _read_pair(line: str) -> tuple[str, str]:
    name, mark, value = line.partition("=")
    if not mark or not name.strip():
        raise ValueError(NO_PAIR)
    return name.strip(), value.strip()


def whole_from(low: int, high: int) -> InputKind:
    """The kind of an input for a whole number within these limits."""

    def read(text: str) -> int:
        found = _read_whole(text)
        if not low <= found <= high:
            raise ValueError(f"expected a whole number from {low:,} to {high:,}")
        return found

    return InputKind(read, mode="numeric")


TEXT = InputKind(str, empty="")
ADDRESS = InputKind(str, mode="url", empty="")
DIGITS = InputKind(str, mode="numeric", empty="")
AREA = InputKind(lambda text: text.replace("\r\n", "\n"), control="area", empty="")
WHOLE = InputKind(_read_whole, mode="numeric")
NUMBER = InputKind(_read_number, mode="decimal")
TICK = InputKind(bool, control="tick", empty=False)
CHOICE = InputKind(str)
WORDS = InputKind(lambda text: text.replace(",", " ").split(), empty=[])
LINES = InputKind(list_lines, "\n".join, "area", empty=[])
PAIRS = InputKind(read_pairs, control="area", empty={})


# A form.


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a form. Without a label no page shows it, and only scripts send it."""

    name: str
    label: str = ""
    kind: InputKind = TEXT
    hint: str = ""
    options: tuple[tuple[str, str], ...] = ()
    expected: str = ""
    """What is said of any wrong text, where the message of its kind would not do."""
    key: str = ""
    """The name of the field, if the input has another."""
    style: str = ""
    more: Mapping[str, object] = field(default_factory=dict)
    """Further attributes of the element."""


@dataclass(frozen=True, slots=True)
class ParsedForm:
    """The values of a form in groups, without the wrong ones, whose errors are by input."""

    fields: dict[str, Any]
    errors: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: object) -> None:
        """Put a value into its group, unless it is None."""
        group, dot, inner = name.partition(".")
        if value is not None:
            (self.fields.setdefault(group, {}) if dot else self.fields)[inner or group] = value

    @property
    def faults(self) -> tuple[WireFault, ...]:
        return tuple(BadField(field=name, text=text) for name, text in self.errors.items())


@dataclass(frozen=True, slots=True)
class ReadForm(Generic[T]):
    """What was typed, as a value, or all that is wrong with it by input."""

    value: T | None
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShownForm:
    """A form as a page shows it: with what was typed, and what is wrong with that."""

    inputs: Mapping[str, Input]
    texts: Texts
    errors: Mapping[str, str] = field(default_factory=dict)
    is_live: bool = False
    """Whether a script fills in errors, so that each input has a place for its own."""

    def text(self, name: str) -> str:
        return self.texts.get(name, "")

    def wrong(self, name: str) -> str:
        return self.errors.get(name, "")

    @property
    def first_wrong(self) -> str:
        """The first input with an error, which gets the focus."""
        return next((name for name in self.inputs if name in self.errors), "")

    @property
    def above(self) -> str:
        """The errors that belong to no input on the page."""
        shown = {name for name, each in self.inputs.items() if each.label}
        return " ".join(text for name, text in self.errors.items() if name not in shown)


Rules = Callable[[Mapping[str, Any]], Iterable[WireFault]]
"""Finds what is wrong with the values of fields together."""


def find_nothing(_value: object) -> Iterable[WireFault]:
    return ()


@dataclass(frozen=True, slots=True)
class DeclaredForm:
    """The inputs of a form, by name and in the order of the page."""

    inputs: Mapping[str, Input]
    places: Mapping[str, str] = field(default_factory=dict)
    """Where faults of other fields are shown, such as of a whole group."""
    keeps_empty: bool = False
    """Whether an empty text is a value of its own. Otherwise its field is left out."""

    def parse(self, texts: Texts, without: Collection[str] = ()) -> ParsedForm:
        """The values of all inputs but those `without`."""
        parsed = ParsedForm({})
        for name, each in self.inputs.items():
            if name in without:
                continue
            try:
                parsed.put(each.key or name, self._read(each.kind, texts.get(name, "").strip()))
            except ValueError as wrong:
                parsed.errors[name] = str(wrong)
        return parsed

    def _read(self, kind: InputKind, text: str) -> object:
        if text:
            return kind.read(text)
        return kind.empty if self.keeps_empty or kind is TICK else None

    def read(self, kind: type[T], texts: Texts) -> ReadForm[T]:
        return self.read_parsed(kind, self.parse(texts))

    def read_parsed(
        self, kind: type[T], parsed: ParsedForm, rules: Rules = find_nothing
    ) -> ReadForm[T]:
        """The value, or all errors: of texts, of values, and of the rules for the values that are
        right."""
        checks = Checks(parsed.faults)
        values = read_fields(kind, parsed.fields, checks)
        for fault in rules(values):
            checks.add(fault)
        errors = self.place(checks.faults)
        return ReadForm(None, errors) if errors else ReadForm(kind(**values))

    def place(self, faults: Iterable[WireFault]) -> dict[str, str]:
        """The messages of faults by input; those of no input have an empty name."""
        errors = dict[str, str]()
        for fault in faults:
            place = find_field(fault)
            text = str(fault).removeprefix(f"{fault.fields.get('field', '')}: ")
            name = self.places.get(place, place)
            errors.setdefault(name, self._say(name, text))
        return errors

    def _say(self, name: str, text: str) -> str:
        each = self.inputs.get(name)
        plain = (each and each.expected) or say_plainly(name, text)
        hidden = name and name not in self.places.values() and not (each and each.label)
        return f"{name}: {plain}" if hidden else plain

    def spell(self, fields: Mapping[str, object]) -> dict[str, str]:
        """The texts of inputs for these values. Those that the form does not have are left out."""
        return {
            name: self.inputs[name].kind.spell(value)
            for name, value in _flatten(fields, self.inputs)
            if name in self.inputs and value is not None
        }

    def show(
        self, texts: Texts, errors: Mapping[str, str] | None = None, *, is_live: bool = False
    ) -> ShownForm:
        return ShownForm(self.inputs, texts, errors or {}, is_live)


def declare(*inputs: Input) -> dict[str, Input]:
    return {each.name: each for each in inputs}


def _flatten(
    fields: Mapping[str, object], inputs: Mapping[str, Input]
) -> Iterator[tuple[str, object]]:
    """The values of groups under the names of their inputs."""
    for name, value in fields.items():
        if name not in inputs and isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", found) for inner, found in value.items())
        else:
            yield name, value
