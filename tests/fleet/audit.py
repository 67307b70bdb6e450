"""The server's books after all that: what it shows must follow from its tasks, and these must be
what the ledger allows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rookery.model.kinds import SprtTest
from rookery.model.task import Results, total
from rookery.protocol import v1
from rookery.stats.sprt import Sprt
from tests.fleet.connections import Connections
from tests.fleet.ledger import Key, Ledger
from tests.fleet.replay import counted, disagreements
from tests.fleet.worker import CORES

PAGE = 200
NEAR = 1e-6


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found wrong, and how much there was to look at."""

    wrong: tuple[str, ...]
    tasks: int
    games: int
    replayed: int
    """Reports of sequential tests that were counted again in their order."""


async def audit_server(
    lines: Connections, ledger: Ledger, runs: list[str], where: Path | str
) -> Audit:
    """Everything in which server, rows and ledger disagree."""
    found: dict[Key, Results] = {}
    wrong: list[str] = []
    reports = 0
    for run_id in runs:
        tasks = await _tasks(lines, run_id)
        found |= {(run_id, task.id): task.results for task in tasks}
        shown = _as(v1.RunDetails, await lines.get(f"/api/v1/runs/{run_id}"))
        wrong += [f"{run_id}: {word}" for word in _disagreements(shown, tasks)]
        document = await lines.get(f"/api/get_run/{run_id}")
        if not document["finished"]:
            ended = sorted(task for run, task in ledger.ended if run == run_id)
            wrong += [f"{run_id}: task {task} was ended under its worker" for task in ended]
        if "spsa" in document["args"]:
            wrong += [f"{run_id}: {word}" for word in _of_tune(document, run_id, found, ledger)]
        if "sprt" in document["args"]:
            rows = await counted(where, run_id)
            reports += len(rows)
            wrong += [f"{run_id}: {word}" for word in disagreements(rows, run_id, document, ledger)]
    wrong += ledger.check(found)
    games = sum(each.games for each in found.values())
    return Audit(tuple(wrong), len(found), games, reports)


async def _tasks(lines: Connections, run_id: str) -> list[v1.TaskEntry]:
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


def _starts(tasks: list[v1.TaskEntry]) -> list[int]:
    """Where each task begins if none overlaps another and nothing is left out."""
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
    """Values and iterations follow from the batches that were counted."""
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
