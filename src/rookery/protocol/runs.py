"""What a worker is told to play: the official keys, and ours, absent where fishtest has none."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rookery.model.bounds import (
    Amount,
    Cores,
    Count,
    Paragraph,
    Phrase,
    Positive,
    RunId,
    Word,
    Words,
)
from rookery.model.engine import EngineRecord
from rookery.model.plan import Compiler, Draw, Filled, Nets, PgnDetail, Resign, Scaling, Variant
from rookery.protocol.codec import Reader

Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
UciOptions = Annotated[dict[Word, Phrase], Meta(max_length=1000)]


class HouseArgs(Struct, frozen=True, gc=False, kw_only=True):
    """What runs may ask for beyond fishtest's; a run that sets none of it is fishtest-shaped."""

    new_engine: Word | UnsetType = UNSET
    base_engine: Word | UnsetType = UNSET
    new_binary: Sha256 | UnsetType = UNSET
    base_binary: Sha256 | UnsetType = UNSET
    new_repo: Phrase | UnsetType = UNSET
    base_repo: Phrase | UnsetType = UNSET
    new_threads: Cores | UnsetType = UNSET
    base_threads: Cores | UnsetType = UNSET
    new_uci: UciOptions | UnsetType = UNSET
    base_uci: UciOptions | UnsetType = UNSET
    resign: Resign | UnsetType = UNSET
    draw: Draw | UnsetType = UNSET
    syzygy_men: Annotated[int, Meta(ge=0, le=8)] | UnsetType = UNSET
    scaling: Scaling | UnsetType = UNSET
    reference_nps: Amount | UnsetType = UNSET
    pgn_detail: PgnDetail | UnsetType = UNSET
    time_margin_ms: Count | UnsetType = UNSET
    variant: Variant | UnsetType = UNSET
    strict_pv: bool | UnsetType = UNSET


class SprtTask(Struct, frozen=True, gc=False, kw_only=True):
    """Its presence makes a task a sequential test; a worker needs the pairs per report alone."""

    batch_size: Positive = 1
    elo0: float | UnsetType = UNSET
    elo1: float | UnsetType = UNSET
    alpha: float | UnsetType = UNSET
    beta: float | UnsetType = UNSET
    elo_model: Word | UnsetType = UNSET
    state: Word | UnsetType = UNSET
    llr: float | UnsetType = UNSET
    lower_bound: float | UnsetType = UNSET
    upper_bound: float | UnsetType = UNSET


class SpsaMark(Struct, frozen=True, gc=False):
    """Its presence makes a task a tune; the values come with request_spsa."""


class TaskArgs(HouseArgs, frozen=True, gc=False, kw_only=True):
    """The keys an official worker reads, a missing one ends its process; then what people see."""

    num_games: Count
    tc: Word
    new_tc: Word | UnsetType = UNSET
    threads: Cores
    new_tag: Phrase
    base_tag: Phrase
    resolved_new: Word
    resolved_base: Word
    tests_repo: Phrase
    new_signature: Word | Count
    base_signature: Word | Count
    new_options: Paragraph
    base_options: Paragraph
    new_nets: Words | UnsetType = UNSET
    base_nets: Words | UnsetType = UNSET
    book: Phrase
    book_depth: Word | Count
    book_sri: Word | UnsetType = UNSET
    adjudication: bool = True
    sprt: SprtTask | UnsetType = UNSET
    spsa: SpsaMark | UnsetType = UNSET
    new_record: EngineRecord | UnsetType = UNSET
    base_record: EngineRecord | UnsetType = UNSET
    username: Word | UnsetType = UNSET
    info: Paragraph | UnsetType = UNSET
    msg_new: Paragraph | UnsetType = UNSET
    msg_base: Paragraph | UnsetType = UNSET
    auto_purge: bool | UnsetType = UNSET
    throughput: float | UnsetType = UNSET
    itp: float | UnsetType = UNSET
    priority: float | UnsetType = UNSET


# What a person or a script asks for when it creates a run: the args of a run, by their own names.
#
# Unknown keys are refused here and nowhere else: a misspelt one would cost a fleet a day.

LARGEST_SUBMISSION = 2 * 2**20
"""A tune may have ten thousand parameters."""

Rate = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(ge=-10_000, le=10_000)]
RawParameters = Annotated[str, Meta(max_length=2**20)]


class SubmittedSprt(Struct, frozen=True, gc=False, kw_only=True):
    """A sequential test; keys that only documents have are passed over, so that one can be sent."""

    elo0: float
    elo1: float
    alpha: Rate = 0.05
    beta: Rate = 0.05
    elo_model: Literal["normalized"] = "normalized"
    batch_size: Positive | UnsetType = UNSET


class SubmittedSpsa(Struct, frozen=True, gc=False, kw_only=True):
    """A tune. `A` is a number of pairs, or below 1 a share of them, as the form has it."""

    raw_params: RawParameters
    stability: Annotated[float, Meta(ge=0, le=1e9)] = field(name="A", default=0.1)
    alpha: float = 0.602
    gamma: float = 0.101
    algorithm: Literal["classic"] = "classic"


class SubmittedArgs(HouseArgs, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A run as its author wants it; `username` and `itp` of a document are passed over."""

    new_tag: Filled
    base_tag: Filled
    tests_repo: Filled | UnsetType = UNSET
    tc: Word
    new_tc: Word | UnsetType = UNSET
    num_games: Count | UnsetType = UNSET
    threads: Cores = 1
    book: Filled
    book_depth: Word | Count = 8
    book_sri: Word | UnsetType = UNSET
    resolved_new: Word | UnsetType = UNSET
    resolved_base: Word | UnsetType = UNSET
    msg_new: Paragraph = ""
    msg_base: Paragraph = ""
    new_signature: Word | Count | UnsetType = UNSET
    base_signature: Word | Count | UnsetType = UNSET
    new_options: Paragraph = "Hash=16"
    base_options: Paragraph = "Hash=16"
    new_nets: Nets = ()
    base_nets: Nets = ()
    info: Paragraph = ""
    master_repo: Phrase | UnsetType = UNSET
    auto_purge: bool = False
    throughput: Weight = 100
    priority: Weight = 0
    adjudication: bool = True
    arch_filter: Phrase = ""
    compiler: Compiler | UnsetType = UNSET
    sprt: SubmittedSprt | UnsetType = UNSET
    spsa: SubmittedSpsa | UnsetType = UNSET
    mirrored: bool | UnsetType = UNSET
    rescheduled_from: RunId | UnsetType = UNSET
    username: Word | UnsetType = UNSET
    itp: float | UnsetType = UNSET


SUBMISSION = Reader(SubmittedArgs, most_bytes=LARGEST_SUBMISSION)
