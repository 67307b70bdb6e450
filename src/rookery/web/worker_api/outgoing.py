"""From the core to the wire: what a worker is given to play, and why it gets nothing.

Only keys that mean something are sent, and none with null: a worker asks which keys are there.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Raw

from rookery.farm.fleet import Drawn
from rookery.model.engine import EngineRecord
from rookery.model.plan import Plan, Side
from rookery.model.run import Run
from rookery.protocol.codec import encode
from rookery.protocol.runs import PREFIXES, side_key
from rookery.protocol.user_documents import args_document
from rookery.protocol.worker_answers import (
    AliveAnswer,
    EndAnswer,
    GrantedRun,
    MyTask,
    SpsaAnswer,
    TaskAnswer,
    spsa_slots,
    spsa_values,
    task_refused,
    update_refused,
    waiting,
)
from rookery.rules.answers import GO_ON, Grant, NoTask, Refusal, TaskVerdict
from rookery.rules.eligibility import Filter
from rookery.sources.commits import PREFIX, mirror_name

MOST_REASONS = 3
MOST_RUNS = 2000


Records = Callable[[Side], EngineRecord | None]
"""What a worker of ours is told of the engine of a side."""


def no_records(_side: Side) -> None:
    """Where nothing but plain Stockfish is known."""


class Payloads:
    """What runs are to those who play them, in bytes: the same for every task of a run, but for
    the engine records that only workers of ours can read."""

    def __init__(self, records: Records = no_records, most: int = MOST_RUNS) -> None:
        self._records = records
        self._most = most
        self._known: dict[tuple[str, bool, str], tuple[Plan, Told, Raw]] = {}

    def args(self, run: Run, *, ours: bool, mirror: str = "") -> Raw:
        """Encoded already, with a test or tune as it stood then: no worker looks at that, and
        official ones are told it because fishtest tells them. `mirror` is the address of this
        server, where sources are to come from it."""
        key = run.id, ours, mirror
        told = self._told(run.plan) if ours else NOTHING_TOLD
        known = self._known.get(key)
        if known is None or known[0] is not run.plan or not _same(known[1], told):
            self._known.pop(key, None)
            body = encode(_args(run, told, mirror, ours=ours))
            known = self._known[key] = (run.plan, told, Raw(body))
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return known[2]

    def _told(self, plan: Plan) -> "Told":
        return self._records(plan.sides[0]), self._records(plan.sides[1])


Told = tuple[EngineRecord | None, EngineRecord | None]
NOTHING_TOLD: Told = (None, None)


def _same(one: Told, other: Told) -> bool:
    """The very same records: to compare all they say would cost more than it saves."""
    return one[0] is other[0] and one[1] is other[1]


def _args(run: Run, told: Told, mirror: str, *, ours: bool) -> dict[str, Any]:
    """To a worker of ours with engine records, and without the hundreds of parameters that a tune
    may have: values come with request_spsa."""
    args = args_document(run)
    if run.plan.book_sri:
        args["book_sri"] = run.plan.book_sri
    if ours and "spsa" in args:
        args["spsa"] = {}
    for prefix, record in zip(PREFIXES, told, strict=True):
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
    """request_task."""
    if isinstance(answer, Refusal):
        return task_refused(answer.why)
    if isinstance(answer, NoTask):
        return waiting(_reasons(answer) or UNSET)
    run, task = answer.run, answer.task
    mine = MyTask(num_games=task.games, start=task.start, stats=task.results)
    mirror = server() if run.plan.mirrored else ""
    args = payloads.args(run, ours=task.machine.abilities.rookery, mirror=mirror)
    granted = GrantedRun(id=run.id, args=args, my_task=mine)
    return TaskAnswer(run=granted, task_id=task.id)


ALIVE = AliveAnswer(task_alive=True)


def alive_answer(answer: TaskVerdict) -> AliveAnswer:
    """beat and update_task."""
    if answer is GO_ON:
        return ALIVE
    if answer.error:
        return update_refused(answer.error)
    return AliveAnswer(task_alive=answer.alive, info=answer.info or UNSET)


def end_answer(answer: TaskVerdict) -> EndAnswer:
    """failed_task: nothing to say, unless the task had ended before."""
    return EndAnswer(task_alive=False, info=answer.info) if answer.info else EndAnswer()


def spsa_answer(answer: Drawn | TaskVerdict) -> SpsaAnswer:
    """request_spsa."""
    if isinstance(answer, TaskVerdict):
        return SpsaAnswer(task_alive=answer.alive, info=answer.info or UNSET)
    if answer.final:
        return spsa_slots(answer.tune, answer.perturbations)
    return spsa_values(answer.tune, answer.perturbations[0])


def _reasons(answer: NoTask) -> str:
    """Why there is nothing to do, for the person who looks at the worker's screen."""
    counts: Counter[str] = Counter()
    for reason, number in answer.reasons:
        if reason.filter is not Filter.PRIVATE:
            counts[reason.sentence] += number
    said = [f"{sentence} ({number})" for sentence, number in counts.most_common(MOST_REASONS)]
    return f"no task: {'; '.join(said)}" if said else ""
