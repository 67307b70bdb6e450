"""Translates from the model to the wire format: what a worker is given to play, and why it gets
nothing.

Only keys with a meaning are sent, and none with null: a worker checks which keys are present.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Raw

from rookery.core.model.engine import EngineRecord
from rookery.core.model.plan import Plan, Side
from rookery.core.model.run import Run
from rookery.core.protocol.codec import encode
from rookery.core.protocol.runs import PREFIXES, side_key
from rookery.core.protocol.user_documents import args_document
from rookery.core.protocol.worker_answers import (
    AliveAnswer,
    EndAnswer,
    GrantedRun,
    MyTask,
    SpsaAnswer,
    TaskAnswer,
    make_spsa_slots,
    make_spsa_values,
    make_waiting_answer,
    refuse_task,
    refuse_update,
)
from rookery.server.farm.fleet import DrawnValues
from rookery.server.farm.rules.answers import GO_ON, Grant, NoTask, Refusal, TaskVerdict
from rookery.server.farm.rules.eligibility import Filter
from rookery.server.sources.commits import PREFIX, mirror_name

MOST_REASONS = 3
MOST_RUNS = 2000


Records = Callable[[Side], EngineRecord | None]
"""Finds the engine record of a side to send to Rookery's own worker; None for plain Stockfish."""


def no_records(_side: Side) -> None:
    """The default for sites that only know plain Stockfish: no record is sent."""


class Payloads:
    """A cache of the encoded `args` that workers get with a task. They are equal for all tasks of a
    run, in one form for official workers and one with engine records for Rookery's own."""

    def __init__(self, records: Records = no_records, most: int = MOST_RUNS) -> None:
        self._records = records
        self._most = most
        self._known: dict[tuple[str, bool, str], tuple[Plan, EngineRecords, Raw]] = {}

    def args(self, run: Run, *, ours: bool, mirror: str = "") -> Raw:
        """The encoded `args` of a run. Results or tune values in them may be outdated, since no
        worker uses them. `mirror` is this server's address if workers fetch sources from it."""
        key = run.id, ours, mirror
        records = self._engine_records(run.plan) if ours else NO_ENGINE_RECORDS
        known = self._known.get(key)
        if known is None or known[0] is not run.plan or not _are_same(known[1], records):
            self._known.pop(key, None)
            body = encode(_args_for_worker(run, records, mirror, ours=ours))
            known = self._known[key] = (run.plan, records, Raw(body))
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return known[2]

    def _engine_records(self, plan: Plan) -> "EngineRecords":
        return self._records(plan.new), self._records(plan.base)


EngineRecords = tuple[EngineRecord | None, EngineRecord | None]
NO_ENGINE_RECORDS: EngineRecords = (None, None)


def _are_same(one: EngineRecords, other: EngineRecords) -> bool:
    """Compare by identity, since comparing the contents would cost more than the cache saves."""
    return one[0] is other[0] and one[1] is other[1]


def _args_for_worker(
    run: Run, records: EngineRecords, mirror: str, *, ours: bool
) -> dict[str, Any]:
    """The `args` of a run. Rookery's own worker gets engine records. It gets no parameters of a
    tune, of which there may be hundreds, because it gets values from request_spsa."""
    args = args_document(run)
    if run.plan.book_sri:
        args["book_sri"] = run.plan.book_sri
    if ours and "spsa" in args:
        args["spsa"] = {}
    for prefix, record in zip(PREFIXES, records, strict=True):
        if record is not None:
            args[side_key("record", prefix)] = record
    if mirror:
        for key in ("tests_repo", "new_repo", "base_repo"):
            if at := args.get(key):
                args[key] = f"{mirror}{PREFIX}/{mirror_name(at)}"
    return args


def task_answer(
    answer: Grant | NoTask | Refusal, payloads: Payloads, server: Callable[[], str] = str
) -> TaskAnswer:
    """The answer to request_task."""
    if isinstance(answer, Refusal):
        return refuse_task(answer.why)
    if isinstance(answer, NoTask):
        return make_waiting_answer(_reasons_text(answer) or UNSET)
    run, task = answer.run, answer.task
    mine = MyTask(num_games=task.games, start=task.start, stats=task.results)
    mirror = server() if run.plan.mirrored else ""
    args = payloads.args(run, ours=task.machine.abilities.rookery, mirror=mirror)
    granted = GrantedRun(id=run.id, args=args, my_task=mine)
    return TaskAnswer(run=granted, task_id=task.id)


ALIVE = AliveAnswer(task_alive=True)


def task_alive_answer(answer: TaskVerdict) -> AliveAnswer:
    """The answer to beat and update_task: whether the worker should continue its task."""
    if answer is GO_ON:
        return ALIVE
    if answer.error:
        return refuse_update(answer.error)
    return AliveAnswer(task_alive=answer.alive, info=answer.info or UNSET)


def end_answer(answer: TaskVerdict) -> EndAnswer:
    """The answer to failed_task: empty, unless the task had ended before."""
    return EndAnswer(task_alive=False, info=answer.info) if answer.info else EndAnswer()


def spsa_answer(answer: DrawnValues | TaskVerdict) -> SpsaAnswer:
    """The answer to request_spsa."""
    if isinstance(answer, TaskVerdict):
        return SpsaAnswer(task_alive=answer.alive, info=answer.info or UNSET)
    if answer.final:
        return make_spsa_slots(answer.tune, answer.perturbations)
    return make_spsa_values(answer.tune, answer.perturbations[0])


def _reasons_text(answer: NoTask) -> str:
    """The most frequent reasons why there is no task, to be printed by the worker."""
    counts: Counter[str] = Counter()
    for reason, number in answer.reasons:
        if reason.filter is not Filter.PRIVATE:
            counts[reason.sentence] += number
    counted = [f"{sentence} ({number})" for sentence, number in counts.most_common(MOST_REASONS)]
    return f"no task: {'; '.join(counted)}" if counted else ""
