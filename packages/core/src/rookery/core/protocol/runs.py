"""A run's arguments under fishtest's flat keys: as workers get them, scripts submit them and
people read them.

`model/plan.py` declares the arguments; the Structs here, which read and describe messages, are
derived from it. Keys that fishtest does not have are left out if they have the default value, so
that a run without our extensions looks like one of fishtest's.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import NoneType
from typing import Annotated, Any, Union, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import FieldInfo, fields

from rookery.core.model.bounds import Amount, Count, Phrase, Positive, RunId, Word
from rookery.core.model.engine import EngineRecord
from rookery.core.model.plan import Plan, Side
from rookery.core.protocol.checks import Checks, read_fields
from rookery.core.protocol.codec import Reader, WireFault
from rookery.core.protocol.kinds import SETTINGS, AskedKind, read_kind

PREFIXES = ("new", "base")
"""The prefixes of the keys of the first and of the second side."""
_SIDE_KEYS = {"commit": "resolved_{}", "message": "msg_{}", "repository": "{}_repo"}
FISHTEST_KEYS = frozenset({
    "num_games", "tc", "username", "book", "book_depth", "threads", "adjudication", "priority",
    "throughput", "auto_purge", "info",
    "new_tag", "new_signature", "new_options", "new_nets", "new_tc", "resolved_new", "msg_new",
    "base_tag", "base_signature", "base_options", "base_nets", "resolved_base", "msg_base",
})  # fmt: skip
"""Keys that are always present, also with the default value."""


def side_key(name: str, prefix: str) -> str:
    """Return the flat key of a side's field: `new_tag`, `resolved_base`."""
    return _SIDE_KEYS.get(name, f"{{}}_{name}").format(prefix)


Keys = dict[str, FieldInfo]
PLAN_KEYS: Keys = {
    info.encode_name: info for info in fields(Plan) if info.name not in ("sides", "book_official")
}
SIDE_KEYS: dict[str, Keys] = {
    prefix: {side_key(info.name, prefix): info for info in fields(Side) if info.name != "record"}
    for prefix in PREFIXES
}
del SIDE_KEYS["base"]["base_tc"]  # fishtest's `tc` is the base's


def flatten(plan: Plan) -> dict[str, Any]:
    """Return the arguments of a run under their flat keys."""
    new, base = plan.sides
    flat = dict(_list_values(plan, PLAN_KEYS))
    for prefix, side in zip(PREFIXES, plan.sides, strict=True):
        flat |= _list_values(side, SIDE_KEYS[prefix])
        if side.uci:
            flat[f"{prefix}_uci"] = dict(side.uci)
        flat.pop(f"{prefix}_repo", None)
        if new.repository != base.repository:
            flat[f"{prefix}_repo"] = side.repository
    return flat | {
        "tc": plan.side_tc(base),
        "new_tc": plan.side_tc(new),
        "book_depth": str(plan.book_depth),
        "tests_repo": new.repository,
    }


def _list_values(value: Plan | Side, keys: Keys) -> Iterator[tuple[str, Any]]:
    for key, info in keys.items():
        found = getattr(value, info.name)
        if key in FISHTEST_KEYS or found != info.default:
            yield key, found


USUAL = Side(tag="", commit="")


def fold(flat: Mapping[str, Any], usual: Side = USUAL) -> Plan:
    """Return the arguments of a run from their flat keys; missing ones are taken from `usual`."""
    given = {info.name: flat[key] for key, info in PLAN_KEYS.items() if key in flat}
    given |= {"book_depth": _parse_depth(flat.get("book_depth", 8))}
    new, base = (_fold_side(flat, prefix, usual) for prefix in PREFIXES)
    unsaid: dict[str, Any] = {"games": 0, "owner": ""}
    return Plan(sides=(new, base), **unsaid | given)


def _fold_side(flat: Mapping[str, Any], prefix: str, usual: Side) -> Side:
    given = {info.name: flat[key] for key, info in SIDE_KEYS[prefix].items() if key in flat}
    given |= {"repository": given.get("repository") or flat.get("tests_repo", usual.repository)}
    if "uci" in given:
        given["uci"] = tuple(given["uci"].items())
    if "signature" in given:
        given["signature"] = str(given["signature"])
    return msgspec.structs.replace(usual, **given)


def _parse_depth(found: str | int) -> int:
    """Return the depth of the book, which fishtest sends as text; 0 where it is no number."""
    text = str(found)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0


# Views: Structs with some of the flat keys, derived from the declaration.

_LOOSE = {
    "book_depth": Word | Count,
    "new_signature": Word | Count,
    "base_signature": Word | Count,
    "new_uci": Annotated[dict[Word, Phrase], Meta(max_length=1000)],
    "base_uci": Annotated[dict[Word, Phrase], Meta(max_length=1000)],
}
"""Fields that messages have in another form than the declaration."""


def derive_view(
    name: str,
    required: Collection[str],
    others: Mapping[str, Any],
    without: Collection[str] = (),
    *,
    strict: bool = False,
) -> type[Struct]:
    """Make a Struct of flat keys from the declaration of a run's arguments. `required` keys have no
    default, `others` replace or add types, `strict` refuses unknown keys."""
    types = {key: _without_none(info.type) for key, info in PLAN_KEYS.items()}
    for keys in SIDE_KEYS.values():
        types |= {key: _without_none(info.type) for key, info in keys.items()}
    types |= {"tests_repo": Phrase, **_LOOSE, **others}
    return msgspec.defstruct(
        name,
        [
            (key, kind) if key in required else (key, Union[kind, UnsetType], UNSET)  # noqa: UP007 - kinds are values
            for key, kind in types.items()
            if key not in without
        ],
        frozen=True,
        kw_only=True,
        gc=False,
        forbid_unknown_fields=strict,
    )


def _without_none(kind: Any) -> Any:
    parts = get_args(kind)
    return Union[*(part for part in parts if part is not NoneType)] if NoneType in parts else kind


def list_given(view: Struct) -> dict[str, Any]:
    """Return the fields of a message that were sent, by key."""
    found = msgspec.structs.asdict(view)
    return {key: value for key, value in found.items() if value is not UNSET}


_FOR_PEOPLE = (
    "username", "info", "msg_new", "msg_base", "auto_purge", "throughput", "priority",
    "arch_filter", "compiler", "mirrored", "master_repo",
)  # fmt: skip
TASK_ARGS = Reader(
    derive_view(
        "TaskArgs",
        required=(
            "num_games", "tc", "threads", "new_tag", "base_tag", "resolved_new", "resolved_base",
            "tests_repo", "new_signature", "base_signature", "new_options", "base_options", "book",
            "book_depth",
        ),
        others={
            **{key: types.task for key, types in SETTINGS.items()},
            "reference_nps": Amount,
            "new_record": EngineRecord,
            "base_record": EngineRecord,
        },
        without=_FOR_PEOPLE,
    ),
    most_bytes=16 * 2**20,
)  # fmt: skip
"""The arguments for a worker; an official worker exits where a required key is missing."""


# The submission of a run by a person or a script.

LARGEST_SUBMISSION = 2 * 2**20
"""The largest body of a submission, since a tune may have ten thousand parameters."""
Weight = Annotated[float, Meta(ge=-10_000, le=10_000)]


SubmittedArgs = derive_view(
    "SubmittedArgs",
    required=("new_tag", "base_tag", "tc", "book"),
    others={
        "num_games": Positive,
        "throughput": Weight,
        "priority": Weight,
        **{key: types.submitted for key, types in SETTINGS.items()},
        "reference_nps": Amount,
        "rescheduled_from": RunId,
        "itp": float,
    },
    strict=True,
)
"""The body of a submission; `username` and `itp` are ignored."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted run. Fields that were left out are empty: engine, repository, commit and bench of
    a side, and the number of games. So are wrong ones, of which `faults` tells."""

    plan: Plan
    kind: AskedKind
    reference_nps: float | None = None
    rescheduled_from: str = ""
    faults: tuple[WireFault, ...] = ()
    size: int = 0
    """How long the texts are that it was read from."""

    def side(self, prefix: str) -> Side:
        return self.plan.sides[PREFIXES.index(prefix)]

    def with_side(self, prefix: str, **changes: Any) -> "Submission":
        sides = dict(zip(PREFIXES, self.plan.sides, strict=True))
        sides[prefix] = msgspec.structs.replace(sides[prefix], **changes)
        return replace(self, plan=msgspec.structs.replace(self.plan, sides=tuple(sides.values())))


_UNSAID = Side(tag="", commit="", repository="", engine="")
_REQUIRED = {"tc": "", "book": ""}
_SUBMISSION = Reader(SubmittedArgs, most_bytes=LARGEST_SUBMISSION)


def read_submission(body: bytes) -> Submission:
    """Decode a submission; raise WireFault."""
    return _make_submission(list_given(_SUBMISSION.read(body)), Checks(), len(body))


def read_submitted(
    plain: Mapping[str, object], faults: Collection[WireFault] = (), size: int = 0
) -> Submission:
    """Return the submission of a form or of this program, from plain values by key. `faults` are
    known already, of fields that are left out."""
    checks = Checks(faults)
    return _make_submission(read_fields(SubmittedArgs, plain, checks), checks, size)


def _make_submission(flat: Mapping[str, Any], checks: Checks, size: int) -> Submission:
    kind = read_kind(flat, checks)
    return Submission(
        plan=msgspec.structs.replace(fold({**_REQUIRED, **flat}, _UNSAID), owner=""),
        kind=kind,
        reference_nps=flat.get("reference_nps"),
        rescheduled_from=flat.get("rescheduled_from", ""),
        faults=tuple(checks.faults),
        size=size,
    )
