"""The query of calc_elo, and Elo estimates as answers carry them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from msgspec import Struct, field

from rookery.protocol.faults import BadParameter
from rookery.protocol.user.queries import decimal, whole

MOST_GAMES = 2**32
LARGEST_BOUND = 10.0
NARROWEST = 0.5
EloModel = Literal["BayesElo", "logistic", "normalized"]
PAIR_NAMES = ("LL", "LD", "DDWL", "WD", "WW")
GAME_NAMES = ("L", "D", "W")


@dataclass(frozen=True, slots=True)
class SprtBounds:
    """The two hypotheses, and the scale they are on."""

    elo0: float
    elo1: float
    elo_model: EloModel


@dataclass(frozen=True, slots=True)
class EloQuery:
    """Five bins of pairs or three of games, worst outcome first; bounds for a sequential test."""

    bins: tuple[int, ...]
    bounds: SprtBounds | None = None


class FixedElo(Struct, frozen=True, gc=False, kw_only=True):
    """The estimate from a fixed number of games."""

    elo: float
    ci: tuple[float, float]
    los: float = field(name="LOS")


class LiveElo(Struct, frozen=True, gc=False, kw_only=True):
    """The estimate from a sequential test, with the bounds and the ratio between them."""

    a: float
    b: float
    elo: float
    ci: tuple[float, float]
    los: float = field(name="LOS")
    llr: float = field(name="LLR")


def elo_query(query: Mapping[str, str]) -> EloQuery:
    """The typed query; raises WireFault."""
    pairs = all(name in query for name in PAIR_NAMES)
    names, games_each = (PAIR_NAMES, 2) if pairs else (GAME_NAMES, 1)
    bins = tuple(whole(query, name, least=0, most=MOST_GAMES) for name in names)
    if not 1 <= games_each * sum(bins) <= MOST_GAMES:
        raise BadParameter(name=",".join(names), text=f"expected 1 to {MOST_GAMES} games in all")
    return EloQuery(bins, _bounds(query))


def _bounds(query: Mapping[str, str]) -> SprtBounds | None:
    if "elo0" not in query and "elo1" not in query:
        return None
    elo0 = decimal(query, "elo0", most=LARGEST_BOUND)
    elo1 = decimal(query, "elo1", most=LARGEST_BOUND)
    if elo1 < elo0 + NARROWEST:
        raise BadParameter(name="elo1", text=f"expected at least elo0 + {NARROWEST:g}")
    return SprtBounds(elo0, elo1, _model(query.get("elo_model", "normalized")))


def _model(text: str) -> EloModel:
    models: tuple[EloModel, ...] = get_args(EloModel)
    for model in models:
        if text == model:
            return model
    raise BadParameter(name="elo_model", text=f"expected one of {', '.join(models)}")
