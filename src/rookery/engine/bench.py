"""The bench: a fixed piece of work whose node count tells one version from another."""

from collections.abc import Callable

import chess

from rookery.engine.evaluation import Evaluation
from rookery.engine.governor import Governor
from rookery.engine.ordering import Memory, ordered
from rookery.engine.search import Search
from rookery.engine.settings import Settings
from rookery.engine.transposition import Table

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
