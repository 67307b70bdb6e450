"""What can be wrong with a submission beyond its form; each class's docstring is its message."""

from typing import NoReturn

from rookery.protocol.faults import BadField, WireFault


class Unresolved(WireFault):
    """{field}: give the 40 hex digits of the commit"""


class NoSignature(WireFault):
    """{field}: give the bench of the commit; its message, as given, names none"""


def refuse(field: str, text: str) -> NoReturn:
    raise BadField(field=field, text=text)


def require(granted: bool, field: str, text: str) -> None:
    if not granted:
        refuse(field, text)
