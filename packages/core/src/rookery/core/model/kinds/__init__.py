"""The kinds of test, the rule of each in one module, which is pure.

A new kind is one more module here and one more entry below; its wire form is in
`core/protocol/kinds`, its words in `server/farm/show/kinds`.
"""

from collections.abc import Mapping

from rookery.core.model.kinds.fixed import Fixed
from rookery.core.model.kinds.kind import (
    AfterReport,
    Batches,
    Kind,
    Outcome,
    Report,
    RunForecast,
    StoredParts,
    estimate_pairs,
)
from rookery.core.model.kinds.sprt import SprtTest
from rookery.core.model.kinds.spsa import SpsaTuning, ticket_of

__all__ = [
    "CHOSEN",
    "KINDS",
    "ONE_PROGRAM",
    "AfterReport",
    "Batches",
    "Fixed",
    "Kind",
    "Outcome",
    "Report",
    "RunForecast",
    "SprtTest",
    "SpsaTuning",
    "StoredParts",
    "estimate_pairs",
    "ticket_of",
]

KINDS: Mapping[str, type[Kind]] = {kind.name: kind for kind in (SprtTest, SpsaTuning, Fixed)}
"""All kinds by name."""
CHOSEN = frozenset(kind.settings for kind in KINDS.values() if kind.settings)
"""The keys of a submission that choose a kind of run, and may be given in part."""
ONE_PROGRAM = frozenset(kind.settings for kind in KINDS.values() if not kind.compares)
"""The keys of those kinds that play one program against itself."""
