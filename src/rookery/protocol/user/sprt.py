"""A sequential test as documents show it."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from rookery.protocol.run_args import SprtTask

State = Literal["", "accepted", "rejected"]


class OvershootDocument(Struct, frozen=True, gc=False, kw_only=True):
    """How far the ratio jumped at its extremes so far."""

    last_update: int
    skipped_updates: int
    ref0: float
    m0: float
    sq0: float
    ref1: float
    m1: float
    sq1: float


class SprtDocument(SprtTask, frozen=True, gc=False, kw_only=True):
    """`args.sprt` in full; exactly one of `overshoot` and `lost_samples` is there."""

    alpha: float
    beta: float
    elo0: float
    elo1: float
    elo_model: str
    state: State
    llr: float
    batch_size: int
    lower_bound: float
    upper_bound: float
    overshoot: OvershootDocument | UnsetType = UNSET
    lost_samples: int | UnsetType = UNSET
    illegal_update: int | UnsetType = UNSET
