"""A task as the worker reads it: who plays, by which rules, in how large batches."""

from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from rookery.http_client import NoAnswer
from rookery.match.job import OFFICIAL_DRAW, OFFICIAL_RESIGN, Adjudication, Setup
from rookery.model.engine import STOCKFISH, EngineRecord
from rookery.model.task import NOTHING, Results
from rookery.model.timecontrol import BadTimeControl, Clock, TimeControl, parse
from rookery.protocol.runs import TaskArgs
from rookery.protocol.worker_answers import TaskAnswer
from rookery.worker.engines.orders import EngineOrder, TaskFailed
from rookery.worker.server import TaskId

STANDARD_MARGIN_MS = 20
NODESTIME_MARGIN_MS = 10_000
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Player:
    """One of the two sides."""

    name: str
    order: EngineOrder
    options: Pairs
    tc: TimeControl
    threads: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """All that a worker needs to know about its task."""

    name: TaskId
    args: TaskArgs
    new: Player
    base: Player
    games: int
    start: int
    before: Results = NOTHING

    @property
    def label(self) -> str:
        return f"{self.args.new_tag} against {self.args.base_tag}"

    @property
    def threads(self) -> int:
        """Cores that one game takes; sides of unequal threads take turns on the larger."""
        return max(self.new.threads, self.base.threads)

    @property
    def pairs(self) -> int:
        """What is left to play."""
        return (self.games - self.before.games) // 2

    @property
    def first_opening(self) -> int:
        return 1 + (self.start + self.before.games) // 2

    @property
    def is_tune(self) -> bool:
        return self.args.sprt is UNSET and self.args.spsa is not UNSET

    @property
    def is_timed(self) -> bool:
        """Whether the machine's speed decides how much time engines get."""
        clocks = any(player.tc.scaled(2.0) != player.tc for player in (self.new, self.base))
        return clocks and self.args.scaling != "off"

    @property
    def reference_nps(self) -> float:
        """The speed that times are meant for: Stockfish's, where the task names none."""
        return self.args.reference_nps or STOCKFISH.speed.reference or 0.0

    @property
    def chess960(self) -> bool:
        if self.args.variant:
            return self.args.variant == "chess960"
        name = self.args.book.upper()
        return "FRC" in name or "960" in name


def assignment_of(answer: TaskAnswer) -> Assignment | None:
    """What the server gave to play, None for nothing; raises NoAnswer or TaskFailed."""
    if answer.task_waiting is not UNSET:
        return None
    if answer.run is UNSET or answer.task_id is UNSET:
        raise NoAnswer("the server names neither a run nor a task")
    args, mine = answer.run.args, answer.run.my_task
    return Assignment(
        TaskId(answer.run.id, answer.task_id),
        args,
        _new(args),
        _base(args),
        mine.num_games,
        mine.start,
        NOTHING if mine.stats is UNSET else mine.stats,
    )


def setup_of(task: Assignment, syzygy: tuple[str, ...] = ()) -> Setup:
    """The rules of its games."""
    args = task.args
    men = args.syzygy_men or 0
    return Setup(
        adjudication=_adjudication(args, men),
        chess960=task.chess960,
        margin_ms=_margin(args),
        syzygy=syzygy if men else (),
        strict_pvs=args.strict_pv is True,
    )


def _adjudication(args: TaskArgs, men: int) -> Adjudication:
    if not args.adjudication:
        return Adjudication(syzygy_men=men)
    resign, draw = OFFICIAL_RESIGN, OFFICIAL_DRAW
    if args.resign is not UNSET:
        resign = args.resign
    if args.draw is not UNSET:
        draw = args.draw
    return Adjudication(resign, draw, men)


def _margin(args: TaskArgs) -> int:
    if args.time_margin_ms is not UNSET:
        return args.time_margin_ms
    nodestime = "nodestime" in args.new_options or "nodestime" in args.base_options
    return NODESTIME_MARGIN_MS if nodestime else STANDARD_MARGIN_MS


def _new(args: TaskArgs) -> Player:
    order = EngineOrder(
        _record(args.new_record, args.new_engine),
        args.resolved_new,
        args.new_repo or args.tests_repo,
        args.new_binary or "",
        args.new_nets or (),
        _signature(args.new_signature),
    )
    tc = args.tc if args.new_tc is UNSET else args.new_tc
    return _player(
        "New", order, args.new_options, args.new_uci, tc, args.new_threads or args.threads
    )


def _base(args: TaskArgs) -> Player:
    order = EngineOrder(
        _record(args.base_record, args.base_engine),
        args.resolved_base,
        args.base_repo or args.tests_repo,
        args.base_binary or "",
        args.base_nets or (),
        _signature(args.base_signature),
    )
    threads = args.base_threads or args.threads
    return _player("Base", order, args.base_options, args.base_uci, args.tc, threads)


def _player(
    side: str,
    order: EngineOrder,
    options: str,
    uci: dict[str, str] | UnsetType,
    tc: str,
    threads: int,
) -> Player:
    pairs = [_option(token) for token in options.split()]
    pairs += [] if uci is UNSET else list(uci.items())
    if threads > 1 and not any("threads" in name.lower() for name, _ in pairs):
        pairs.insert(0, ("Threads", str(threads)))
    return Player(f"{side}-{order.commit}", order, tuple(pairs), _time_control(tc), threads)


def _option(token: str) -> tuple[str, str]:
    name, _, value = token.partition("=")
    return name, value


def _time_control(text: str) -> TimeControl:
    try:
        return parse(text)
    except BadTimeControl as fault:
        raise TaskFailed(f"The run's time control can't be read: {fault}.", blame="run") from None


def _record(record: EngineRecord | UnsetType, engine: str | UnsetType) -> EngineRecord:
    if record is not UNSET:
        return record
    if engine not in (UNSET, STOCKFISH.name):
        raise TaskFailed(f"The server says nothing about the engine {engine}.", blame="run")
    return STOCKFISH


def _signature(found: str | int) -> int | None:
    """None where nobody has measured it."""
    text = str(found)
    return int(text) if text.isdecimal() and int(text) else None


def batch_pairs(task: Assignment, slots: int, *, is_rookery: bool, nps: float = 0.0) -> int:
    """How many pairs are reported at a time.

    A server of ours hears of fixed games and tunes two or three times a minute.
    """
    if task.args.sprt is not UNSET:
        return task.args.sprt.batch_size
    if is_rookery:
        pair_seconds = 2 * max(task.base.tc.game_seconds(nps), 1e-3)
        return slots * max(1, min(HOUSE_PAIRS, round(HOUSE_SECONDS / pair_seconds)))
    ratio = LONG.limit_seconds(nps) / max(task.base.tc.limit_seconds(nps), 1e-9)
    pairs = 2 * slots * max(1, round(ratio))
    return 2 * pairs if task.is_tune else pairs


HOUSE_SECONDS = 20.0
HOUSE_PAIRS = 50
LONG = Clock(60.0, 0.6)
