"""A task as the worker reads it: the sides, the rules, and the size of batches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, Raw

from rookery.core.http_failures import NoAnswer
from rookery.core.model.engine import STOCKFISH, EngineRecord
from rookery.core.model.plan import Plan, Side
from rookery.core.model.run import STOCKFISH_NPS
from rookery.core.model.task import NOTHING, Results
from rookery.core.model.timecontrol import BadTimeControl, ClockControl, parse
from rookery.core.protocol.codec import WireFault
from rookery.core.protocol.runs import PREFIXES, TASK_ARGS, fold, list_given, side_key
from rookery.core.protocol.worker_answers import TaskAnswer
from rookery.match.job import OFFICIAL_DRAW, OFFICIAL_RESIGN, Adjudication, EngineSpec, Setup
from rookery.worker.engines.orders import EngineOrder, TaskFailed
from rookery.worker.server import TaskId

STANDARD_MARGIN_MS = 20
NODESTIME_MARGIN_MS = 10_000


@dataclass(frozen=True, slots=True)
class Player:
    """One of the two sides: how to make its program, and how the program plays."""

    order: EngineOrder
    spec: EngineSpec


@dataclass(frozen=True, slots=True)
class Assignment:
    """Everything that a worker needs to know about its task."""

    name: TaskId
    plan: Plan
    new: Player
    base: Player
    games: int
    start: int
    before: Results = NOTHING
    batch_size: int = 0
    """Pairs per report of a sequential test; 0 for other tests."""
    is_tune: bool = False
    reference_nps: float = STOCKFISH_NPS

    @property
    def label(self) -> str:
        new, base = self.plan.sides
        return f"{new.tag} against {base.tag}"

    @property
    def threads(self) -> int:
        """Cores that one game takes. Only one side thinks at a time, so it is the larger number of
        threads."""
        return self.plan.slot_threads

    @property
    def pairs(self) -> int:
        """The pairs that are left to play."""
        return (self.games - self.before.games) // 2

    @property
    def first_opening(self) -> int:
        return 1 + (self.start + self.before.games) // 2

    @property
    def is_timed(self) -> bool:
        """Whether the engines' time is scaled by the machine's speed."""
        return self.plan.is_scaled and self.plan.is_timed


def read_assignment(answer: TaskAnswer) -> Assignment | None:
    """Return the task in a server's answer; None if there is none. Raise NoAnswer or TaskFailed."""
    if answer.task_waiting is not UNSET:
        return None
    if answer.run is UNSET or answer.task_id is UNSET:
        raise NoAnswer("the server names neither a run nor a task")
    mine, flat = answer.run.my_task, _args(answer.run.args)
    plan = fold(flat)
    new, base = (_player(plan, prefix, flat) for prefix in PREFIXES)
    return Assignment(
        TaskId(answer.run.id, answer.task_id),
        plan,
        new,
        base,
        mine.num_games,
        mine.start,
        NOTHING if mine.stats is UNSET else mine.stats,
        batch_size=flat["sprt"].batch_size if "sprt" in flat else 0,
        is_tune="spsa" in flat and "sprt" not in flat,
        reference_nps=flat.get("reference_nps") or STOCKFISH_NPS,
    )


def _args(body: Raw) -> dict[str, Any]:
    try:
        return list_given(TASK_ARGS.read(bytes(body)))
    except WireFault as fault:
        raise NoAnswer(f"the server's task can't be read: {fault}") from None


def match_setup(task: Assignment, syzygy: tuple[str, ...] = ()) -> Setup:
    """Return the rules of the task's games."""
    plan = task.plan
    return Setup(
        adjudication=adjudication_of(plan),
        chess960=plan.plays_chess960,
        margin_ms=_margin(plan),
        syzygy=syzygy if plan.syzygy_men else (),
        strict_pvs=plan.strict_pv,
    )


def adjudication_of(plan: Plan) -> Adjudication:
    """Return the rules by which games end early: the run's own, and the official worker's for the
    rest."""
    resign, draw = (OFFICIAL_RESIGN, OFFICIAL_DRAW) if plan.adjudication else (None, None)
    return Adjudication(plan.resign or resign, plan.draw or draw, plan.syzygy_men)


def _margin(plan: Plan) -> int:
    if plan.time_margin_ms is not None:
        return plan.time_margin_ms
    nodestime = any("nodestime" in side.options for side in plan.sides)
    return NODESTIME_MARGIN_MS if nodestime else STANDARD_MARGIN_MS


def _player(plan: Plan, prefix: str, flat: Mapping[str, Any]) -> Player:
    side = plan.sides[PREFIXES.index(prefix)]
    order = EngineOrder(
        _record(flat.get(side_key("record", prefix)), side.engine),
        side.commit,
        side.repository,
        side.binary,
        side.nets,
        _signature(side.signature),
    )
    tc, threads = _time_control(plan.side_tc(side)), plan.side_threads(side)
    name = f"{prefix.capitalize()}-{side.commit}"
    return Player(order, EngineSpec(name, (), _options(side, threads), tc, threads))


def _options(side: Side, threads: int) -> tuple[tuple[str, str], ...]:
    tokens = (token.partition("=") for token in side.options.split())
    pairs = [*((name, value) for name, _, value in tokens), *side.uci]
    if threads > 1 and not any("threads" in name.lower() for name, _ in pairs):
        pairs.insert(0, ("Threads", str(threads)))
    return tuple(pairs)


def _time_control(text: str) -> str:
    try:
        return str(parse(text))
    except BadTimeControl as fault:
        raise TaskFailed(f"The run's time control can't be read: {fault}.", blame="run") from None


def _record(record: EngineRecord | None, engine: str) -> EngineRecord:
    if record is not None:
        return record
    if engine != STOCKFISH.name:
        raise TaskFailed(f"The server says nothing about the engine {engine}.", blame="run")
    return STOCKFISH


def _signature(text: str) -> int | None:
    """Return the signature; None if there is none."""
    return int(text) if text.isdecimal() and int(text) else None


def batch_pairs(task: Assignment, slots: int, *, is_rookery: bool, nps: float = 0.0) -> int:
    """How many pairs are reported at a time.

    A Rookery server gets reports of fixed games and tunes two or three times a minute.
    """
    if task.batch_size:
        return task.batch_size
    if is_rookery:
        pair_seconds = 2 * max(task.base.spec.time_control.game_seconds(nps), 1e-3)
        return slots * max(1, min(MOST_REPORTED_PAIRS, round(REPORT_SECONDS / pair_seconds)))
    ratio = LONG.limit_seconds(nps) / max(task.base.spec.time_control.limit_seconds(nps), 1e-9)
    pairs = 2 * slots * max(1, round(ratio))
    return 2 * pairs if task.is_tune else pairs


REPORT_SECONDS = 20.0
MOST_REPORTED_PAIRS = 50
LONG = ClockControl(60.0, 0.6)
