"""What the decisions of the core cost: choosing a run, folding a result, finishing a run.

    PYTHONPATH=src python benchmarks/core.py [--quick]

Figures are medians (and 99th percentiles) of single calls, in microseconds of processor time, so
that other load on the machine doesn't count. A decision is a request for a task by a machine whose
former task has just ended, as in a fleet at work.
"""

import argparse
import gc
import random
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from rookery.core.model.engine import STANDARD
from rookery.core.model.kinds import Fixed, Kind, Report, SprtTest
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Plan, Side
from rookery.core.model.run import Run, Status, create
from rookery.core.model.task import NOTHING, Results
from rookery.core.stats.sprt import Sprt
from rookery.server.farm.rules.answers import Grant, HeldTask, NoTask
from rookery.server.farm.rules.assignment import Scheduler
from rookery.server.farm.rules.reception import Reception
from rookery.server.farm.rules.working_set import WorkingSet, end_task, finish_decided

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CORES = (1, 2, 3, 4, 6, 7, 8, 12, 14, 15, 16, 24, 28, 30, 31, 32, 48, 62, 63, 64, 96, 126, 127, 128)
CLASSES = tuple(
    (threads, mib, arch)
    for threads, mib in ((1, 16), (1, 64), (1, 128), (8, 64), (8, 256))
    for arch in ("", "avx2|bmi2|avx512")
)
BATCH = Results(8, 7, 17, 0, 0, (0, 4, 7, 5, 0))


def make_run(number: int, rng: random.Random, kind: Kind | None = None) -> Run:
    threads, mib, arch = CLASSES[number % len(CLASSES)]
    new, base = (Side(tag, "0" * 40, options=f"Hash={mib}") for tag in ("new", "base"))
    plan = Plan(
        sides=(new, base),
        games=10**9,
        tc="10+0.1",
        owner=f"user{number % 40}",
        book="UHO.epd",
        threads=threads,
        arch_filter=arch,
        priority=rng.choice((0, 0, 0, 1)),
        throughput=rng.choice((25, 50, 100, 200)),
    )
    kind = kind or SprtTest(Sprt(0, 2, batch_size=16))
    run = create(f"{number:024x}", plan, kind, STANDARD, NOW)
    return Run(
        run.id,
        plan,
        kind,
        run.demands,
        NOW,
        NOW,
        Status("boss"),
        run.tally,
        rng.uniform(20, 500),
        run.reference_nps,
    )


def make_machine(number: int, *, memory: int = 512_000) -> Machine:
    return Machine(
        uname="Linux 6.8.0",
        architecture=("64bit", "ELF"),
        cores=CORES[number % len(CORES)],
        memory=memory,
        min_threads=1,
        user=f"user{number % 500}",
        version=325,
        python_version=(3, 12, 3),
        gcc_version=(13, 2, 0),
        compiler="g++",
        key=f"{number:08x}-0000-0000-0000-000000000000",
        modified=False,
        arch=("x86-64-avx2", "x86-64-bmi2", "armv8")[number % 3],
        engine_arch="?",
        nps=600_000.0,
        near_github_limit=False,
    )


def fleet(runs: int, tasks: int) -> tuple[WorkingSet, Scheduler, list[Machine]]:
    rng = random.Random(runs * 1_000_003 + tasks)
    working = WorkingSet()
    for number in range(runs):
        working.admit(make_run(number, rng), (), NOW)
    assignment = Scheduler(working)
    machines = [make_machine(number) for number in range(tasks)]
    for machine in machines:
        assignment.request(machine, NOW, limit=10**9)
    return working, assignment, machines


def decisions(runs: int, tasks: int, rounds: int) -> list[float]:
    """Requests of random machines, each after its own task has ended."""
    working, assignment, machines = fleet(runs, tasks)
    rng = random.Random(1)
    found = []
    for _ in range(rounds):
        machine = machines[rng.randrange(tasks)]
        task = working.task_at(machine.short_name)
        assert task
        end_task(working, task, NOW)
        began = time.thread_time()
        outcome = assignment.request(machine, NOW, limit=10**9)
        found.append(time.thread_time() - began)
        assert isinstance(outcome.answer, Grant)
    return found


def vain_decisions(runs: int, tasks: int, rounds: int) -> list[float]:
    """Requests of machines that no run suits: too little memory."""
    _, assignment, _ = fleet(runs, tasks)
    machines = [make_machine(10**6 + number, memory=100) for number in range(50)]
    found = []
    for number in range(rounds):
        began = time.thread_time()
        outcome = assignment.request(machines[number % 50], NOW, limit=10**9)
        found.append(time.thread_time() - began)
        assert isinstance(outcome.answer, NoTask)
    return found


def folds(rounds: int) -> list[float]:
    """Reports of one batch each to a sequential test that has played for a while."""
    working = WorkingSet()
    run = make_run(0, random.Random(1), SprtTest(Sprt(0, 2, batch_size=16)))
    working.admit(run, (), NOW)
    assignment, reception = Scheduler(working), Reception(working)
    found: list[float] = []
    now = NOW
    while len(found) < rounds:
        machine = make_machine(64)
        answer = assignment.request(machine, now).answer
        assert isinstance(answer, Grant)
        call, results = HeldTask(run.id, answer.task.id, machine), NOTHING
        for _ in range(answer.task.games // 32):
            now += timedelta(seconds=100)
            results += BATCH
            report = Report(results)
            began = time.thread_time()
            reception.update(call, report, now)
            found.append(time.thread_time() - began)
            if run.id not in working.runs():
                working.admit(make_run(0, random.Random(1)), (), NOW)
                break
    return found


def finishes(rounds: int) -> list[float]:
    """Ends of a run with 10,000 active tasks."""
    found = []
    for _ in range(rounds):
        working = WorkingSet()
        working.admit(make_run(0, random.Random(1), Fixed()), (), NOW)
        assignment = Scheduler(working)
        for number in range(10_000):
            assignment.request(make_machine(3 * number), NOW, limit=10**9)
        run = working.runs()[f"{0:024x}"]
        began = time.thread_time()
        changes = finish_decided(working, run, NOW)
        found.append(time.thread_time() - began)
        assert len(changes.closings[0].tasks) == 10_000
    return found


def refreshes(runs: int, rounds: int) -> list[float]:
    """Working out the shares of all runs, as happens once a minute."""
    _, assignment, _ = fleet(runs, 1000)
    found = []
    for _ in range(rounds):
        began = time.thread_time()
        assignment.refresh_shares()
        found.append(time.thread_time() - began)
    return found


def show(name: str, measure: Callable[[], list[float]]) -> None:
    gc.collect()
    times = [seconds * 1e6 for seconds in measure()]
    middle = statistics.median(times)
    high = statistics.quantiles(times, n=100)[98] if len(times) >= 100 else max(times)
    print(f"{name:58} {middle:10.1f} {high:10.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs, tasks and rounds")
    quick = parser.parse_args().quick
    rounds = 500 if quick else 3000
    print(f"{'microseconds':58} {'median':>10} {'p99':>10}")
    for tasks in (1000,) if quick else (1000, 100_000):
        for runs in (20, 1000) if quick else (20, 100, 1000, 5000):
            text = f"{runs} runs, {tasks} active tasks"
            show(f"decision: {text}", partial(decisions, runs, tasks, rounds))
            show(f"nothing fits: {text}", partial(vain_decisions, runs, tasks, rounds))
    show("fold of a result with SPRT evaluation", lambda: folds(rounds))
    show("finishing a run with 10,000 tasks", lambda: finishes(1 if quick else 5))
    show("refreshing the shares of 1000 runs", lambda: refreshes(1000, 3))
    show("refreshing the shares of 5000 runs", lambda: refreshes(5000, 3))


if __name__ == "__main__":
    main()
