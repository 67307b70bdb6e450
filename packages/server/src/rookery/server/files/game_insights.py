"""What the games of a run show besides their results: their lengths, openings that decide them, bad
endings, and how fast the engines searched in each phase.

It is computed from the latest games only, so that its cost does not depend on their number.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.protocol.games import OPENING_MOVES, BrokenGames, Ending, Outcome, parse_game_text
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.disk import StorageAway
from rookery.server.files.blobs import UnknownBlob
from rookery.server.files.games import GameStore, IndexedGame, StoredGame

UPLOADS_LOOKED_AT = 200
MOST_GAMES = 20_000
MOST_LISTED = 20
UPLOADS_READ = 5
"""The number of uploads from whose first games the search speed is computed."""
POSITIONS_READ = 8
"""The number of lopsided openings whose positions are read from a game."""
REMEMBERED_SECONDS = 60.0
MOST_REMEMBERED = 100
LENGTH_STEP = 20
"""The moves per column of the chart of lengths."""
LENGTH_COLUMNS = 11
BAD_ENDINGS = frozenset(
    {Ending.TIME_FORFEIT, Ending.ABANDONED, Ending.ILLEGAL_MOVE, Ending.STALLED}
)
PHASES = ((0, 20), (20, 40), (40, 10_000))
"""The phases of a game, as ranges of move numbers."""


@dataclass(frozen=True, slots=True)
class LopsidedOpening:
    """An opening that the same colour won each time; `sample` is one of its games."""

    games: int
    winner: Outcome
    sample: IndexedGame
    position: str = ""
    """Its FEN or first moves, if the sample's text is stored here."""


@dataclass(frozen=True, slots=True)
class PhaseSpeed:
    """A side's search in one phase of the game: averages per move."""

    first_move: int
    is_new: bool
    moves: int
    seconds: float
    depth: float
    nodes_per_second: float


@dataclass(frozen=True, slots=True)
class GameInsights:
    """The insights from the latest `games` games."""

    games: int = 0
    lengths: tuple[int, ...] = ()
    """The number of games by length, in columns of LENGTH_STEP moves; the last column has all
    longer ones."""
    openings: int = 0
    """Openings that were played at least twice."""
    white_always: int = 0
    black_always: int = 0
    lopsided: tuple[LopsidedOpening, ...] = ()
    bad: tuple[IndexedGame, ...] = ()
    phases: tuple[PhaseSpeed, ...] = ()
    timed_games: int = 0
    """The number of games from which the phases were computed."""


class GameInsightsReader:
    """Computes insights in a thread, once for all callers, and caches them for a moment."""

    def __init__(self, games: GameStore, threads: Threads, clock: Clock) -> None:
        self._games = games
        self._threads = threads
        self._known: ExpiringCache[str, GameInsights] = ExpiringCache(clock, MOST_REMEMBERED)
        self._making: SharedWork[str, GameInsights] = SharedWork()

    async def read(self, run_id: str) -> GameInsights:
        return await self._making(run_id, lambda: self._read(run_id))

    async def _read(self, run_id: str) -> GameInsights:
        known = self._known.get(run_id)
        if known is not None:
            return known
        indexed = await self._games.rows.list_latest(run_id, UPLOADS_LOOKED_AT)
        texts = await self._read_texts(run_id)
        found = await self._threads.cpu(find_insights, indexed[:MOST_GAMES], texts)
        found = replace(found, lopsided=await self._add_positions(found.lopsided))
        self._known.put(run_id, found, REMEMBERED_SECONDS)
        return found

    async def _read_texts(self, run_id: str) -> tuple[str, ...]:
        found: list[str] = []
        for upload in await self._games.rows.find_latest(run_id, UPLOADS_READ):
            with suppress(UnknownBlob, StorageAway, BrokenGames):
                found += await self._games.read_beginning(upload.blob)
        return tuple(found)

    async def _add_positions(
        self, lopsided: Sequence[LopsidedOpening]
    ) -> tuple[LopsidedOpening, ...]:
        """Return the openings, the first few with their positions; reading more would take long."""
        found = [await self._add_position(each) for each in lopsided[:POSITIONS_READ]]
        return (*found, *lopsided[POSITIONS_READ:])

    async def _add_position(self, opening: LopsidedOpening) -> LopsidedOpening:
        stored = StoredGame(opening.sample.game, opening.sample.blob)
        if stored.blob:
            with suppress(UnknownBlob, StorageAway, BrokenGames):
                text = await self._games.read_text(stored)
                return replace(opening, position=describe_opening(text))
        return opening


def describe_opening(text: str) -> str:
    """Return the start of a game: its FEN, else its first moves."""
    game = parse_game_text(text)
    fen = " ".join(game.tags.get("FEN", "").split()[:4])
    return fen or " ".join(move.san for move in game.moves[:OPENING_MOVES])


def find_insights(games: Sequence[IndexedGame], texts: Sequence[str]) -> GameInsights:
    """Compute the insights; takes some milliseconds per thousand games."""
    found = _compare_openings(games)
    return replace(
        found,
        games=len(games),
        lengths=_count_lengths(games),
        bad=tuple(each for each in games if each.game.ending in BAD_ENDINGS)[:MOST_LISTED],
        phases=measure_phases(texts),
        timed_games=len(texts),
    )


def _count_lengths(games: Iterable[IndexedGame]) -> tuple[int, ...]:
    columns = [0] * LENGTH_COLUMNS
    for each in games:
        moves = (each.game.plies + 1) // 2
        columns[min(moves // LENGTH_STEP, LENGTH_COLUMNS - 1)] += 1
    return tuple(columns)


def _compare_openings(games: Iterable[IndexedGame]) -> GameInsights:
    played: dict[bytes, list[IndexedGame]] = defaultdict(list)
    for each in games:
        played[each.game.opening].append(each)
    often = [those for those in played.values() if len(those) > 1]
    lopsided = [
        LopsidedOpening(len(those), those[0].game.outcome, _choose_sample(those))
        for those in often
        if is_lopsided(those)
    ]
    lopsided.sort(key=lambda each: -each.games)
    whites = sum(each.winner is Outcome.WHITE for each in lopsided)
    return GameInsights(
        openings=len(often),
        white_always=whites,
        black_always=len(lopsided) - whites,
        lopsided=tuple(lopsided[:MOST_LISTED]),
    )


def _choose_sample(games: Sequence[IndexedGame]) -> IndexedGame:
    """Return a game whose text is stored here, preferably near the beginning of its upload."""
    return min(games, key=lambda each: (not each.blob, each.game.offset))


def is_lopsided(games: Sequence[IndexedGame]) -> bool:
    """Whether one colour has won all of these games."""
    outcomes = {each.game.outcome for each in games}
    return len(outcomes) == 1 and outcomes <= {Outcome.WHITE, Outcome.BLACK}


# The engines' search speed, from the comments that the runner wrote after each move: `+0.35/14
# 0.254s, n=12345` has a score, a depth, seconds and nodes.


@dataclass(slots=True)
class _Searched:
    moves: int = 0
    seconds: float = 0.0
    depth: int = 0
    nodes: int = 0
    seconds_with_nodes: float = 0.0


def measure_phases(texts: Iterable[str]) -> tuple[PhaseSpeed, ...]:
    """Return the speeds by phase and side, if the runner noted how long moves took."""
    sums: dict[tuple[int, bool], _Searched] = defaultdict(_Searched)
    for text in texts:
        _add_game(sums, text)
    return tuple(
        PhaseSpeed(
            first_move=start + 1,
            is_new=is_new,
            moves=each.moves,
            seconds=each.seconds / each.moves,
            depth=each.depth / each.moves,
            nodes_per_second=each.nodes / each.seconds_with_nodes if each.nodes else 0.0,
        )
        for (start, is_new), each in sorted(sums.items(), key=_phase_place)
    )


def _phase_place(pair: tuple[tuple[int, bool], _Searched]) -> tuple[int, bool]:
    """Return a sort key: in the order of the game, with the new side first in each phase."""
    (start, is_new), _ = pair
    return start, not is_new


def _add_game(sums: dict[tuple[int, bool], _Searched], text: str) -> None:
    game = parse_game_text(text)
    new_is_white = game.tags.get("White", "").startswith("New-")
    for place, move in enumerate(game.moves):
        seconds, depth, nodes = read_search(move.comment)
        if seconds is None:
            continue
        start = next(start for start, end in PHASES if place // 2 < end)
        is_white = (place % 2 == 0) == game.white_begins
        side = sums[start, is_white == new_is_white]
        side.moves += 1
        side.seconds += seconds
        side.depth += depth
        if nodes and seconds > 0:
            side.nodes += nodes
            side.seconds_with_nodes += seconds


def read_search(comment: str) -> tuple[float | None, int, int]:
    """Return the seconds, depth and nodes in a comment; no seconds in another kind of comment."""
    seconds, depth, nodes = None, 0, 0
    for word in comment.replace(",", " ").split()[:10]:
        score, slash, rest = word.partition("/")
        if slash and rest.isdecimal() and len(rest) < 4 and score:
            depth = int(rest)
        elif word.startswith("n=") and word[2:].isdecimal() and len(word) < 18:
            nodes = int(word[2:])
        elif word.endswith("s") and _is_plain_number(word[:-1]):
            seconds = float(word[:-1])
    return seconds, depth, nodes


def _is_plain_number(text: str) -> bool:
    whole, _, rest = text.partition(".")
    return len(text) < 12 and whole.isdecimal() and (not rest or rest.isdecimal())
