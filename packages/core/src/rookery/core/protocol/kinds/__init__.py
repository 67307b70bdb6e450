"""The kinds of test on the wire, each in one module: what a submission asks for, and what a task,
an answer and a message contain. Other code looks a kind up here once and asks what it finds."""

from collections.abc import Mapping
from typing import Any

from rookery.core.model.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.kinds.fixed import AskedFixed, FixedWire
from rookery.core.protocol.kinds.sprt import SprtWire
from rookery.core.protocol.kinds.spsa import SpsaWire
from rookery.core.protocol.kinds.wire import AskedKind, History, KindWire, Settings

__all__ = ["SETTINGS", "AskedKind", "History", "read_kind", "wire_of"]

_WIRES: Mapping[type[Kind], Any] = {SprtTest: SprtWire, SpsaTuning: SpsaWire, Fixed: FixedWire}
SETTINGS: Mapping[str, Settings] = {
    kind.settings: wire.settings for kind, wire in _WIRES.items() if wire.settings
}
"""The settings of each kind that has some, by their key."""


def wire_of(kind: Kind) -> KindWire:
    found: KindWire = _WIRES[type(kind)](kind)
    return found


def read_kind(given: Mapping[str, Any], checks: Checks) -> AskedKind:
    """Return the kind that the fields of a submission ask for; if they are wrong, perhaps another
    one."""
    asked = [key for key in SETTINGS if key in given]
    for key in asked[1:]:
        checks.require(False, key, "a run is a sequential test or a tune, not both")
    found = SETTINGS[asked[0]].read(given[asked[0]], checks) if asked else None
    return found or AskedFixed()
