"""What a worker is told to play: the official keys, and ours, absent where fishtest has none."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from rookery.protocol.engine_record import EngineRecord
from rookery.protocol.fields import (
    Cores,
    Count,
    Paragraph,
    Phrase,
    Positive,
    Speed,
    Word,
    Words,
)

Variant = Literal["standard", "chess960"]
Scaling = Literal["nps", "off"]
PgnDetail = Literal["full", "moves", "none"]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
UciOptions = Annotated[dict[Word, Phrase], Meta(max_length=1000)]


class ResignRule(Struct, frozen=True, gc=False):
    """Resign after that many moves in a row at or below minus that many centipawns."""

    score: Count
    moves: Positive
    two_sided: bool = False


class DrawRule(Struct, frozen=True, gc=False):
    """Draw after that many moves in a row within that many centipawns of zero."""

    from_move: Count
    moves: Positive
    score: Count


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
    resign: ResignRule | UnsetType = UNSET
    draw: DrawRule | UnsetType = UNSET
    syzygy_men: Annotated[int, Meta(ge=0, le=8)] | UnsetType = UNSET
    scaling: Scaling | UnsetType = UNSET
    reference_nps: Speed | UnsetType = UNSET
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
