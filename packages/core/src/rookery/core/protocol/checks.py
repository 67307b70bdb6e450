"""Finds all faults of a message in one pass, each with the name of its field."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from rookery.core.protocol.codec import BadField, WireFault, read_value

T = TypeVar("T")


class WireFaults(WireFault):
    """Several faults of one message. Its text and its field are those of the first."""

    def __init__(self, faults: Sequence[WireFault]) -> None:
        super().__init__()
        self.faults, self.fields = tuple(faults), faults[0].fields
        self.args = (str(faults[0]),)


def list_faults(fault: WireFault) -> tuple[WireFault, ...]:
    return fault.faults if isinstance(fault, WireFaults) else (fault,)


def find_field(fault: WireFault) -> str:
    """Return the field of a fault, without a place inside of a list; empty if it belongs to
    none."""
    return str(fault.fields.get("field", "")).partition("[")[0]


class Checks:
    """The faults found so far. In a `with` statement it collects a fault that is raised, and goes
    on behind it.

    A check that needs a field that is already wrong is left out: it could only repeat that.
    """

    def __init__(self, faults: Iterable[WireFault] = ()) -> None:
        self.faults: list[WireFault] = []
        self._wrong: set[str] = set()
        for fault in faults:
            self.add(fault)

    def add(self, fault: WireFault) -> None:
        """Add a fault. Of each field only the first one counts."""
        for each in list_faults(fault):
            field = find_field(each)
            if not field or field not in self._wrong:
                self.faults.append(each)
            self._wrong |= {field, field.partition(".")[0]}

    def are_right(self, *fields: str) -> bool:
        """Whether nothing is known against these fields. A group is wrong if one of its fields
        is."""
        return self._wrong.isdisjoint(fields)

    def require(self, granted: bool, field: str, text: str) -> None:
        if not granted:
            self.add(BadField(field=field, text=text))

    def field(self, check: Callable[[str, T], T], name: str, value: T, *needs: str) -> T:
        """Return the value of a field as its check returns it; as it was given if it is wrong or
        needs another field that is."""
        if self.are_right(name, *needs):
            with self:
                return check(name, value)
        return value

    def settle(self) -> None:
        """Raise what is wrong: the only fault, or WireFaults."""
        if self.faults:
            raise self.faults[0] if len(self.faults) == 1 else WireFaults(self.faults)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, WireFault):
            self.add(error)
        return isinstance(error, WireFault)


def read_fields(
    kind: type[Struct], plain: Mapping[str, object], checks: Checks, group: str = ""
) -> dict[str, Any]:
    """Return the values of a Struct's fields, by their names. What is wrong or missing is left out
    and goes to the checks; a group of fields with one that is wrong is left out as a whole."""
    found = dict[str, Any]()
    for info in fields(kind):
        place = group + info.encode_name
        if info.encode_name in plain:
            with checks:
                found |= _read_field(info, plain[info.encode_name], checks, place)
        elif info.required and checks.are_right(place):
            checks.add(BadField(field=place, text="is missing"))
    return found


def _read_field(info: FieldInfo, value: object, checks: Checks, place: str) -> dict[str, Any]:
    part = _find_struct(info.type)
    if part is None or not isinstance(value, Mapping):
        return {info.name: read_value(info.type, value, place)}
    inner = read_fields(part, value, checks, f"{place}.")
    return {info.name: part(**inner)} if checks.are_right(place) else {}


def _find_struct(kind: Any) -> type[Struct] | None:
    """Return the Struct in the type of a field that may also be None or left out."""
    parts = (kind, *get_args(kind))
    return next(
        (each for each in parts if isinstance(each, type) and issubclass(each, Struct)), None
    )
