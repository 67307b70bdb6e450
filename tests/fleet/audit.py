"""Audits a server after a load: what it shows must follow from its tasks, and these must agree with
the ledger."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rookery.core.model.kinds import SprtTest
from rookery.core.model.task import NOTHING, Results, total
from rookery.core.protocol import v1
from rookery.core.stats.residuals import MANUAL, PurgeRule, bad_worker, judge_workers
from rookery.core.stats.sprt import Sprt
from tests.fleet.connections import Connections
from tests.fleet.ledger import Key, Ledger
from tests.fleet.replay import counted, disagreements
from tests.fleet.worker import CORES

PAGE = 200
NEAR = 1e-6
NEARLY = PurgeRule(p_value=2 * MANUAL.p_value, residual=0.9 * MANUAL.residual)
"""The rule of manual purges, with some tolerance."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The errors found, and how much was checked."""

    wrong: tuple[str, ...]
    tasks: int
    games: int
    replayed: int
    """The number of reports of sequential tests that were replayed in order."""


async def audit_server(
    lines: Connections, ledger: Ledger, runs: list[str], where: Path | str
) -> Audit:
    """All differences between server, rows and ledger."""
    found: dict[Key, Results] = {}
    wrong: list[str] = []
    reports = struck_games = 0
    for run_id in runs:
        tasks = await read_tasks(lines, run_id)
        found |= {(run_id, task.id): task.results for task in tasks}
        shown = _as(v1.RunDetails, await lines.get(f"/api/v1/runs/{run_id}"))
        wrong += [f"{run_id}: {word}" for word in _disagreements(shown, tasks)]
        document = await lines.get(f"/api/get_run/{run_id}")
        if run_id in ledger.purged:
            wrong += [f"{run_id}: {word}" for word in find_struck_wrongly(tasks, ledger)]
            struck = [task for task in tasks if task.bad]
            found |= {(run_id, task.id): _before(task, ledger) for task in struck}
            struck_games += total(_before(task, ledger) for task in struck).games
        elif not document["finished"]:
            ended = sorted(task for run, task in ledger.ended if run == run_id)
            wrong += [f"{run_id}: task {task} was ended under its worker" for task in ended]
        if "spsa" in document["args"]:
            wrong += [f"{run_id}: {word}" for word in _of_tune(document, run_id, found, ledger)]
        if "sprt" in document["args"]:
            rows = await counted(where, run_id)
            reports += len(rows)
            wrong += [f"{run_id}: {word}" for word in disagreements(rows, run_id, document, ledger)]
    wrong += ledger.check(found)
    games = sum(each.games for each in found.values()) - struck_games
    return Audit(tuple(wrong), len(found), games, reports)


async def read_tasks(lines: Connections, run_id: str) -> list[v1.TaskEntry]:
    tasks: list[v1.TaskEntry] = []
    more, page = True, 1
    while more:
        path = f"/api/v1/tasks?run={run_id}&page={page}&size={PAGE}"
        listed = _as(v1.TaskList, await lines.get(path))
        tasks += listed.tasks
        more, page = listed.more, page + 1
    return tasks


def _disagreements(run: v1.RunDetails, tasks: list[v1.TaskEntry]) -> list[str]:
    results = total(task.results for task in tasks)
    active = [task for task in tasks if task.active]
    committed = sum(task.num_games if task.active else task.results.games for task in tasks)
    sums = {
        "results": (run.results, results),
        "tasks": (run.tasks, len(tasks)),
        "total_games": (run.total_games, sum(task.num_games for task in tasks)),
        "committed_games": (run.committed_games, committed),
        "workers": (run.workers, len(active)),
        "cores": (run.cores, CORES * len(active)),
        "starts": ([task.start for task in tasks], _starts(tasks)),
    }
    compared = [(name, here, there) for name, (here, there) in sums.items()]
    wrong = [f"{name} {here} is not {there}" for name, here, there in compared if here != there]
    if isinstance(run.llr, float) and abs(run.llr - _llr(run, results)) > NEAR:
        wrong.append(f"LLR {run.llr} is not {_llr(run, results)}")
    return wrong


def find_struck_wrongly(tasks: Sequence[v1.TaskEntry], ledger: Ledger) -> list[str]:
    """Errors in purges: nothing may remain of purged tasks, which must be those that crashed too
    often, or, without any, all tasks of the one worker whose results differ from the others'."""
    wrong, others = [], []
    struck = [task for task in tasks if task.bad]
    for task in struck:
        entry = ledger.entries.get((task.run, task.id))
        if task.results.games or entry is None:
            wrong.append(f"task {task.id} was struck out and holds {task.results}")
        elif not any(each.excessive() for each in entry.may_be()):
            others.append(task)
    if others and (len(others) < len(struck) or not _differ(others, tasks, ledger)):
        words = ((task.id, ledger.entries[task.run, task.id].may_be()) for task in others)
        wrong += [f"task {number} was struck out for nothing: {held}" for number, held in words]
    return wrong


def _differ(struck: list[v1.TaskEntry], tasks: Sequence[v1.TaskEntry], ledger: Ledger) -> bool:
    """Whether these are the tasks of the worker that differs most from the others, by acknowledged
    results. A report whose answer was lost may have counted too, so the rule has some tolerance."""
    results: defaultdict[str, Results] = defaultdict(lambda: NOTHING)
    for task in tasks:
        results[task.worker] += _before(task, ledger) if task.bad else task.results
    test = judge_workers({name: each.pentanomial for name, each in results.items()})
    return {task.worker for task in struck} == {bad_worker(test, NEARLY)}


def _before(task: v1.TaskEntry, ledger: Ledger) -> Results:
    """The results of a struck-out task before that, as far as its worker knows."""
    entry = ledger.entries.get((task.run, task.id))
    return entry.acknowledged if entry else task.results


def _starts(tasks: list[v1.TaskEntry]) -> list[int]:
    """The start of each task if none overlap and no games are left out."""
    starts, next_one = [], 0
    for task in tasks:
        starts.append(next_one)
        next_one += task.num_games
    return starts


def _llr(run: v1.RunDetails, results: Results) -> float:
    sprt = run.args["sprt"]
    rules = Sprt(sprt["elo0"], sprt["elo1"], batch_size=sprt["batch_size"])
    return SprtTest(rules).rejudged(results).state.llr


def _of_tune(
    document: dict[str, Any], run_id: str, found: dict[Key, Results], ledger: Ledger
) -> list[str]:
    """Errors in a tune: its values and iterations must follow from the counted batches."""
    spsa = document["args"]["spsa"]
    theta = [param["start"] for param in spsa["params"]]
    for key, entry in ledger.entries.items():
        if key[0] == run_id:
            for games, step in entry.steps.items():
                if games <= found[key].games:
                    theta = [value + move for value, move in zip(theta, step, strict=True)]
    games = sum(results.games for key, results in found.items() if key[0] == run_id)
    shown = [param["theta"] for param in spsa["params"]]
    wrong = []
    if spsa["iter"] != games // 2:
        wrong.append(f"{spsa['iter']} iterations after {games} games")
    if any(abs(here - there) > NEAR for here, there in zip(shown, theta, strict=True)):
        wrong.append(f"theta {shown} is not {theta}")
    return wrong


def _as(kind: type[Any], answer: dict[str, Any]) -> Any:
    return msgspec.convert(answer, kind)
