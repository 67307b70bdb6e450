"""A conversation in UCI: commands in, answers out, one search at a time."""

import gc
from collections.abc import Callable, Sequence
from time import perf_counter

import chess

from rookery import __version__
from rookery.engine.evaluation import Evaluation
from rookery.engine.ordering import Memory, Table, ordered
from rookery.engine.search import Governor, Search
from rookery.engine.settings import Settings, option_lines, with_option
from rookery.engine.thinking import BadPosition, Inbox, Position, Thinker, parse_go

# The bench: a fixed piece of work whose node count tells one version from another.

DEPTH = 4
POSITIONS = (
    chess.STARTING_FEN,
    "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2Q1RK1 b - - 4 8",
    "r2q1rk1/1b2bppp/p1nppn2/1p6/3NP3/1BN1B3/PPP1QPPP/2KR3R w - - 2 11",
    "r1b2rk1/2q1bppp/p2ppn2/1p4P1/3QPP2/2N1B3/PPP4P/2KR1B1R b - - 0 14",
    "2r3k1/pp3ppp/4p3/3pP3/1q1P4/5N2/P1Q2PPP/2R3K1 w - - 3 23",
    "8/5pk1/4p1p1/3pP2p/1r1P1P1P/2R3P1/5K2/8 w - - 1 41",
    "8/8/1p1k4/1P1p1p2/P2P1P2/3K4/8/8 b - - 4 50",
    "4r1k1/1b3ppp/8/pp1p4/3P1q2/P1N2P2/1P4PP/R2Q2K1 b - - 0 22",
)


def bench(settings: Settings, clock: Callable[[], float]) -> str:
    """Search every position to a fixed depth; the line to print."""
    start = clock()
    nodes = sum(_nodes(fen, settings, clock) for fen in POSITIONS)
    seconds = max(clock() - start, 1e-6)
    return f"{nodes} nodes {int(nodes / seconds)} nps"


def _nodes(fen: str, settings: Settings, clock: Callable[[], float]) -> int:
    board = chess.Board(fen)
    search = Search(
        board,
        (),
        evaluate=Evaluation(settings.weights),
        settings=settings,
        table=Table(settings.hash_megabytes),
        governor=Governor(clock, lambda: False),
    )
    for _ in search.iterations(list(ordered(board, None, Memory(), 0)), DEPTH):
        pass
    return search.nodes


Say = Callable[[str], None]

NAME = f"Fledgling {__version__}"
AUTHOR = "the Rookery authors"


class Session:
    """Holds what lasts from command to command."""

    def __init__(self, inbox: Inbox, say: Say, clock: Callable[[], float] = perf_counter) -> None:
        self._inbox = inbox
        self._say = say
        self._clock = clock
        self._settings = Settings()
        self._position = Position()
        self._thinker = Thinker(self._settings, inbox, say, clock)
        self._commands: dict[str, Callable[[Sequence[str]], None]] = {
            "uci": self._uci,
            "isready": lambda _: say("readyok"),
            "ucinewgame": self._new_game,
            "setoption": self._set_option,
            "position": self._set_position,
            "go": self._go,
            "bench": lambda _: say(bench(self._settings, clock)),
        }

    def run(self) -> None:
        """Obey until told to quit, or until nobody is there any more."""
        while not self._thinker.told_to_quit:
            line = self._inbox.wait()
            if line is None or line.split(maxsplit=1)[0] == "quit":
                return
            self.obey(line)

    def obey(self, line: str) -> None:
        """Carry out one command; what is unknown is passed over, as the protocol wants."""
        word, *rest = line.split()
        if (command := self._commands.get(word)) is not None:
            command(rest)

    def _uci(self, _: Sequence[str]) -> None:
        self._say(f"id name {NAME}")
        self._say(f"id author {AUTHOR}")
        for line in option_lines():
            self._say(line)
        self._say("uciok")

    def _new_game(self, _: Sequence[str]) -> None:
        self._thinker = Thinker(self._settings, self._inbox, self._say, self._clock)
        self._position = Position()
        gc.collect()

    def _set_option(self, words: Sequence[str]) -> None:
        name, _, value = " ".join(words).removeprefix("name ").partition(" value ")
        try:
            self._settings = with_option(self._settings, name.strip(), value.strip())
        except ValueError as error:
            self._say(f"info string option {name} not set: {error}")
        else:
            # What was remembered under other settings is worthless.
            self._thinker = Thinker(self._settings, self._inbox, self._say, self._clock)

    def _set_position(self, words: Sequence[str]) -> None:
        try:
            self._position.set(words, chess960=self._settings.chess960)
        except BadPosition as error:
            self._say(f"info string position not set: {error}")

    def _go(self, words: Sequence[str]) -> None:
        self._thinker.think(self._position, parse_go(words))
