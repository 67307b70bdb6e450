"""The query strings and path names of fishtest's API for scripts, parsed into typed values."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec import Struct, field

from rookery.core.protocol.codec import BadName, BadParameter
from rookery.core.stats.sprt import EloModel, Sprt

# Numbers and flags in query strings.

_INTEGER = re.compile(r"[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def parse_integer(query: Mapping[str, str], name: str, *, least: int, most: int) -> int:
    """Return a required integer within bounds; raise BadParameter."""
    text = query.get(name, "")
    if not _INTEGER.fullmatch(text) or not least <= int(text) <= most:
        raise BadParameter(name=name, text=f"expected an integer from {least} to {most}")
    return int(text)


def parse_decimal(query: Mapping[str, str], name: str, *, most: float) -> float:
    """Return a required number of bounded size; raise BadParameter."""
    text = query.get(name, "")
    value = float(text) if _DECIMAL.fullmatch(text[:100]) else math.inf
    if abs(value) > most:
        raise BadParameter(name=name, text=f"expected a number from {-most:g} to {most:g}")
    return value


def parse_flag(query: Mapping[str, str], name: str) -> bool:
    """Return True for any text but the empty one, even `0`, as in fishtest."""
    return bool(query.get(name))


MOST_GAMES = 2**32
LARGEST_BOUND = 10.0
NARROWEST = 0.5
PAIR_NAMES = ("LL", "LD", "DDWL", "WD", "WW")
GAME_NAMES = ("L", "D", "W")


@dataclass(frozen=True, slots=True)
class EloQuery:
    """The query of calc_elo: five bins of pairs or three of games, worst outcome first; bounds for
    a sequential test."""

    bins: tuple[int, ...]
    bounds: Sprt | None = None


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


def parse_elo_query(query: Mapping[str, str]) -> EloQuery:
    """Return the typed query; raise WireFault."""
    pairs = all(name in query for name in PAIR_NAMES)
    names, games_each = (PAIR_NAMES, 2) if pairs else (GAME_NAMES, 1)
    bins = tuple(parse_integer(query, name, least=0, most=MOST_GAMES) for name in names)
    if not 1 <= games_each * sum(bins) <= MOST_GAMES:
        raise BadParameter(name=",".join(names), text=f"expected 1 to {MOST_GAMES} games in all")
    return EloQuery(bins, _parse_bounds(query))


def _parse_bounds(query: Mapping[str, str]) -> Sprt | None:
    if "elo0" not in query and "elo1" not in query:
        return None
    elo0 = parse_decimal(query, "elo0", most=LARGEST_BOUND)
    elo1 = parse_decimal(query, "elo1", most=LARGEST_BOUND)
    if elo1 < elo0 + NARROWEST:
        raise BadParameter(name="elo1", text=f"expected at least elo0 + {NARROWEST:g}")
    return Sprt(elo0, elo1, _parse_model(query.get("elo_model", "normalized")))


def _parse_model(text: str) -> EloModel:
    try:
        return EloModel(text)
    except ValueError:
        models = ", ".join(sorted(model.value for model in EloModel))
        raise BadParameter(name="elo_model", text=f"expected one of {models}") from None


# The query of finished_runs.

PAGE_SIZE = 50
MOST_PAGES = 10**7
LONGEST_NAME = 100
_TIMESTAMP = re.compile(r"[0-9]{10}(\.[0-9]{0,9})?")


@dataclass(frozen=True, slots=True)
class FinishedQuery:
    """The query of finished_runs, newest first, fifty to a page."""

    page: int
    username: str | None = None
    success_only: bool = False
    yellow_only: bool = False
    ltc_only: bool = False
    since: datetime | None = None


def parse_finished_query(query: Mapping[str, str]) -> FinishedQuery:
    """Return the typed query; raise WireFault."""
    return FinishedQuery(
        page=parse_integer(query, "page", least=1, most=MOST_PAGES),
        username=_parse_username(query),
        success_only=parse_flag(query, "success_only"),
        yellow_only=parse_flag(query, "yellow_only"),
        ltc_only=parse_flag(query, "ltc_only"),
        since=_parse_since(query),
    )


def _parse_username(query: Mapping[str, str]) -> str | None:
    name = query.get("username") or None
    if name is not None and (len(name) > LONGEST_NAME or not name.isprintable()):
        raise BadParameter(name="username", text="expected a user's name")
    return name


def _parse_since(query: Mapping[str, str]) -> datetime | None:
    text = query.get("timestamp")
    if text is None:
        return None
    if not _TIMESTAMP.fullmatch(text):
        raise BadParameter(name="timestamp", text="expected ten digits of UNIX seconds")
    return datetime.fromtimestamp(float(text), UTC)


# Names in the paths of the user API.

_ID = r"(?P<run>[0-9a-f]{24})"
_NUMBER = r"(?P<task>[0-9]{1,9})"
_TASK = re.compile(rf"{_NUMBER}(?P<bad>bad)?")
_PGN = re.compile(rf"{_ID}-{_NUMBER}")
_RUN_PGNS = re.compile(rf"{_ID}\.pgn\.gz")
_NET = re.compile(
    r"nn-(?P<hash>[0-9a-f]{12})\.nnue|(?P<whole>[0-9a-f]{64})(\.[A-Za-z0-9]{1,10})?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class TaskName:
    """The number of a task of a run, or of one of its bad tasks."""

    number: int
    bad: bool


@dataclass(frozen=True, slots=True)
class PgnName:
    """The task in the name of a file of games."""

    run_id: str
    task_id: int


def parse_task_name(text: str) -> TaskName:
    """Return the task in `17`, or `2bad` for the third bad task; raise BadName."""
    found = _match(_TASK, text, "17 or 2bad")
    return TaskName(int(found["task"]), found["bad"] is not None)


def parse_pgn_name(text: str) -> PgnName:
    """Return the task in `{run_id}-{task_id}.pgn`, with any ending; raise BadName."""
    found = _match(_PGN, text.partition(".")[0], "{run_id}-{task_id}.pgn")
    return PgnName(found["run"], int(found["task"]))


def parse_run_pgns_name(text: str) -> str:
    """Return the run id in `{run_id}.pgn.gz`; raise BadName."""
    return _match(_RUN_PGNS, text, "{run_id}.pgn.gz")["run"]


def parse_net_hash(text: str) -> str:
    """Return the twelve digits in `nn-xxxxxxxxxxxx.nnue`, or all 64 of another net; raise
    BadName."""
    found = _match(_NET, text, "nn-xxxxxxxxxxxx.nnue")
    return found["hash"] or found["whole"]


def _match(pattern: re.Pattern[str], text: str, form: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise BadName(name=text[:100], form=form)
    return found
