"""The match runner: plays pairs of games between UCI engines and says how each ended."""

from rookery.worker.match.adjudication import Adjudication
from rookery.worker.match.events import Event, GameEnded, GameStarted, LatencyMeasured, PairEnded
from rookery.worker.match.fastchess import FastchessMatch
from rookery.worker.match.faults import EngineUnusable, MatchFault
from rookery.worker.match.job import PairJob, PairResult, Setup
from rookery.worker.match.local import LocalMatch
from rookery.worker.match.match import Match
from rookery.worker.match.record import GameResult, Played, Termination
from rookery.worker.match.sharded import ShardedMatch
from rookery.worker.match.spec import EngineSpec, Patience

__all__ = [
    "Adjudication",
    "EngineSpec",
    "EngineUnusable",
    "Event",
    "FastchessMatch",
    "GameEnded",
    "GameResult",
    "GameStarted",
    "LatencyMeasured",
    "LocalMatch",
    "Match",
    "MatchFault",
    "PairEnded",
    "PairJob",
    "PairResult",
    "Patience",
    "Played",
    "Setup",
    "ShardedMatch",
    "Termination",
]
