"""From the core to the wire: what a worker is given to play, and why it gets nothing.

Only keys that mean something are sent, and none with null: a worker asks which keys are there.
"""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar, cast

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import asdict, replace

from rookery.farm.fleet import Drawn
from rookery.model.engine import STOCKFISH, EngineRecord
from rookery.model.kinds import SprtTest, SpsaTuning
from rookery.model.plan import Plan, Side
from rookery.model.run import STOCKFISH_NPS, Run
from rookery.protocol.codec import encode, finite
from rookery.protocol.runs import HouseArgs, SpsaMark, TaskArgs
from rookery.protocol.user_documents import (
    OvershootDocument,
    SprtDocument,
    SpsaDocument,
    spsa_document,
)
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
from rookery.rules.answers import Grant, NoTask, Refusal, TaskVerdict
from rookery.rules.eligibility import Filter
from rookery.sources.commits import PREFIX, mirror_name
from rookery.stats.spsa import Tune, as_lines

# Sequential tests and tunes as fishtest's documents, for those who play and those who look on.


def sprt_of(run: Run) -> SprtDocument | UnsetType:
    """`args.sprt`; absent where the run is something else."""
    kind = run.kind
    if not isinstance(kind, SprtTest):
        return UNSET
    spec, state = kind.spec, kind.state
    return SprtDocument(
        alpha=spec.alpha,
        beta=spec.beta,
        elo0=spec.elo0,
        elo1=spec.elo1,
        elo_model=spec.model.value,
        state=state.verdict.value,
        llr=finite(state.llr),
        batch_size=spec.batch_size,
        lower_bound=spec.lower,
        upper_bound=spec.upper,
        overshoot=_overshoot(kind),
        lost_samples=state.lost_samples if state.overshoot is None else UNSET,
        illegal_update=UNSET if state.illegal_update is None else state.illegal_update,
    )


def _overshoot(kind: SprtTest) -> OvershootDocument | UnsetType:
    found = kind.state.overshoot
    if found is None:
        return UNSET
    return OvershootDocument(
        last_update=found.last_update,
        skipped_updates=found.skipped_updates,
        ref0=found.ref0,
        m0=found.m0,
        sq0=found.sq0,
        ref1=found.ref1,
        m1=found.m1,
        sq1=found.sq1,
    )


def spsa_of(run: Run) -> SpsaDocument | UnsetType:
    """`args.spsa` without its history; absent where the run is something else."""
    if not isinstance(run.kind, SpsaTuning):
        return UNSET
    tune = run.kind.tune
    return spsa_document(tune, raw_parameters(tune))


def raw_parameters(tune: Tune) -> str:
    """The lines that the tune was made from, in one form."""
    return "\n".join(as_lines(tune, [parameter.line.start for parameter in tune.parameters]))


V = TypeVar("V")

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

    def args(self, run: Run, *, ours: bool, mirror: str = "") -> TaskArgs:
        """Encoded already, with a test or tune as it stood then: no worker looks at that, and
        official ones are told it because fishtest tells them. `mirror` is the address of this
        server, where sources are to come from it."""
        key = run.id, ours, mirror
        told = self._told(run.plan) if ours else NOTHING_TOLD
        known = self._known.get(key)
        if known is None or known[0] is not run.plan or not _same(known[1], told):
            self._known.pop(key, None)
            args = _mirrored(_with_records(run, told), mirror)
            args = _lean(args) if ours else args
            known = self._known[key] = (run.plan, told, Raw(encode(args)))
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return cast("TaskArgs", known[2])

    def _told(self, plan: Plan) -> "Told":
        return self._records(plan.sides[0]), self._records(plan.sides[1])


Told = tuple[EngineRecord | None, EngineRecord | None]
NOTHING_TOLD: Told = (None, None)


def _same(one: Told, other: Told) -> bool:
    """The very same records: to compare all they say would cost more than it saves."""
    return one[0] is other[0] and one[1] is other[1]


def _with_records(run: Run, told: Told) -> TaskArgs:
    args = args_of(run)
    if told == NOTHING_TOLD:
        return args
    return replace(args, new_record=told[0] or UNSET, base_record=told[1] or UNSET)


def _lean(args: TaskArgs) -> TaskArgs:
    """Without the hundreds of parameters that a tune may have: values come with request_spsa."""
    return args if args.spsa is UNSET else replace(args, spsa=SpsaMark())


def _mirrored(args: TaskArgs, mirror: str) -> TaskArgs:
    if not mirror:
        return args
    places = {"tests_repo": args.tests_repo, "new_repo": args.new_repo, "base_repo": args.base_repo}
    found = {name: f"{mirror}{PREFIX}/{mirror_name(at)}" for name, at in places.items() if at}
    return replace(args, **found)


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


def alive_answer(answer: TaskVerdict) -> AliveAnswer:
    """beat and update_task."""
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


def args_of(run: Run) -> TaskArgs:
    """A run as far as a worker needs it."""
    official, ours = _official(run), _ours(run)
    return official if ours == NOTHING_OF_OURS else replace(official, **asdict(ours))


def _official(run: Run) -> TaskArgs:
    """What every worker reads: new and base engine are the first two sides."""
    plan = run.plan
    new, base = plan.sides[0], plan.sides[1]
    return TaskArgs(
        num_games=plan.games,
        tc=plan.side_tc(base),
        new_tc=plan.side_tc(new),
        threads=plan.threads,
        new_tag=new.tag,
        base_tag=base.tag,
        resolved_new=new.commit,
        resolved_base=base.commit,
        msg_new=new.message,
        msg_base=base.message,
        tests_repo=new.repository,
        new_signature=new.signature,
        base_signature=base.signature,
        new_options=new.options,
        base_options=base.options,
        new_nets=new.nets,
        base_nets=base.nets,
        book=plan.book,
        book_depth=str(plan.book_depth),
        book_sri=plan.book_sri or UNSET,
        adjudication=plan.adjudication,
        sprt=sprt_of(run),
        spsa=spsa_of(run),
        username=plan.owner,
        info=plan.info,
        auto_purge=plan.auto_purge,
        throughput=plan.throughput,
        itp=finite(run.share),
        priority=plan.priority,
    )


def _ours(run: Run) -> HouseArgs:
    """What only our worker knows; nothing where an official one could play the run."""
    plan = run.plan
    new, base = plan.sides[0], plan.sides[1]
    apart = new.repository != base.repository
    return HouseArgs(
        new_engine=_if(new.engine != STOCKFISH.name, new.engine),
        base_engine=_if(base.engine != STOCKFISH.name, base.engine),
        new_binary=new.binary or UNSET,
        base_binary=base.binary or UNSET,
        new_repo=_if(apart, new.repository),
        base_repo=_if(apart, base.repository),
        new_threads=UNSET if new.threads is None else new.threads,
        base_threads=UNSET if base.threads is None else base.threads,
        new_uci=dict(new.uci) or UNSET,
        base_uci=dict(base.uci) or UNSET,
        resign=plan.resign or UNSET,
        draw=plan.draw or UNSET,
        syzygy_men=plan.syzygy_men or UNSET,
        scaling=UNSET if plan.is_scaled else "off",
        reference_nps=_if(run.reference_nps != STOCKFISH_NPS, finite(run.reference_nps)),
        pgn_detail=plan.pgn_detail or UNSET,
        time_margin_ms=UNSET if plan.time_margin_ms is None else plan.time_margin_ms,
        variant=plan.variant or UNSET,
        strict_pv=plan.strict_pv or UNSET,
    )


def _if(wanted: bool, value: V) -> V | UnsetType:
    return value if wanted else UNSET


def _reasons(answer: NoTask) -> str:
    """Why there is nothing to do, for the person who looks at the worker's screen."""
    counts: Counter[str] = Counter()
    for reason, number in answer.reasons:
        if reason.filter is not Filter.PRIVATE:
            counts[reason.sentence] += number
    said = [f"{sentence} ({number})" for sentence, number in counts.most_common(MOST_REASONS)]
    return f"no task: {'; '.join(said)}" if said else ""


NOTHING_OF_OURS = HouseArgs()
