"""What a person or a script asks for when it creates a run: the args of a run, by their own names.

Unknown keys are refused here and nowhere else: a misspelt one would cost a fleet a day.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rookery.protocol.decoding import Reader
from rookery.protocol.fields import Cores, Count, Paragraph, Phrase, Positive, RunId, Word
from rookery.protocol.run_args import HouseArgs

LARGEST_SUBMISSION = 2 * 2**20
"""A tune may have ten thousand parameters."""

Filled = Annotated[str, Meta(min_length=1, max_length=1000)]
Rate = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(ge=-10_000, le=10_000)]
RawParameters = Annotated[str, Meta(max_length=2**20)]
Nets = Annotated[tuple[Word, ...], Meta(max_length=20)]
Compiler = Literal["g++", "clang++"]


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
