"""Runs the stages of scripts/test, several at once, and says how each ended."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from scripts.coverage_report import Unmet

ROOT = Path(__file__).resolve().parent.parent
# A stage that exceeds its budget is marked; at this many times its budget it counts as hanging and
# is ended.
PATIENCE = 3
LEAST_PATIENCE = 300
# How many stages run at once: most tests wait for processes and databases, so two keep a core busy.
# With three, servers under test stop so slowly that their own time limits end them.
LANES = min(8, 2 * len(os.sched_getaffinity(0)))
# Keep compiled modules: tests start hundreds of processes, each of which would compile all its
# imports.
KEEPING = {"PYTHONDONTWRITEBYTECODE": ""}
SUMMARY = re.compile(r"(\d+) (passed|failed|errors?)\b")


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: a command or a preparation, with its time budget in seconds."""

    name: str
    budget: int
    command: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[], str] | None = None
    tier: str = ""
    """The tier of tests that this stage runs, or of which it runs a part."""


@dataclass(slots=True)
class Outcome:
    """How a stage ended. `left_out` says why it did not run."""

    stage: Stage
    seconds: float
    ok: bool
    counts: dict[str, int] = field(default_factory=dict)
    cpu: float = 0.0
    """The CPU seconds of its processes, but for those that outlived who had started them."""
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the command of a stage ended."""

    output: str
    ok: bool
    cpu: float


class Lanes:
    """Runs stages, several at once, each in a process group so that nothing of it is left
    running."""

    def __init__(self, left_out: Mapping[str, str] | None = None) -> None:
        self._left_out = left_out or {}
        self._printing = threading.Lock()
        self._children: set[int] = set()

    def run(self, stage: Stage) -> Outcome:
        if why := self._left_out.get(stage.name):
            return Outcome(stage, 0.0, ok=True, left_out=why)
        started = time.monotonic()
        if stage.prepare:
            try:
                words, ok = stage.prepare(), True
            except Unmet as unmet:
                words, ok = str(unmet), False
            self._print(stage, words + "\n")
            return Outcome(stage, time.monotonic() - started, ok)
        ended = self.run_command(stage, max(LEAST_PATIENCE, stage.budget * PATIENCE))
        self._print(stage, ended.output)
        seconds = time.monotonic() - started
        return Outcome(stage, seconds, ended.ok, counts_in(ended.output), ended.cpu)

    def run_chain(self, chain: Sequence[Stage]) -> list[Outcome]:
        return [self.run(stage) for stage in chain]

    def run_chains(self, chains: Sequence[Sequence[Stage]]) -> list[Outcome]:
        with ThreadPoolExecutor(LANES) as lanes:
            under_way = [lanes.submit(self.run_chain, chain) for chain in chains]
            try:
                return [outcome for each in under_way for outcome in each.result()]
            except KeyboardInterrupt:
                lanes.shutdown(wait=False, cancel_futures=True)
                for child in tuple(self._children):
                    os.killpg(child, signal.SIGKILL)
                raise

    def run_command(self, stage: Stage, seconds: float) -> Ended:
        """Runs the command of a stage, and ends it after so many seconds."""
        child = subprocess.Popen(
            stage.command,
            cwd=ROOT,
            env=os.environ | KEEPING | stage.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._children.add(child.pid)
        hangs = threading.Event()

        def end() -> None:
            hangs.set()
            os.killpg(child.pid, signal.SIGKILL)

        patience = threading.Timer(seconds, end)
        patience.start()
        assert child.stdout
        try:
            with child.stdout as said:
                output = said.read()
            # Not `wait`, which does not tell the CPU time.
            _, status, usage = os.wait4(child.pid, 0)
        finally:
            patience.cancel()
            self._children.discard(child.pid)
        child.returncode = os.waitstatus_to_exitcode(status)
        if hangs.is_set():
            output += f"\nended after {seconds:.0f} s: it hangs\n"
        return Ended(output, child.returncode == 0, usage.ru_utime + usage.ru_stime)

    def _print(self, stage: Stage, output: str) -> None:
        with self._printing:
            print(f"\n== {stage.name}\n{output}", end="", flush=True)


def counts_in(output: str) -> dict[str, int]:
    """The counts in pytest's last line."""
    last = next((line for line in reversed(output.splitlines()) if SUMMARY.search(line)), "")
    return {what.rstrip("s"): int(number) for number, what in SUMMARY.findall(last)}


def table(outcomes: Sequence[Outcome], seconds: float) -> str:
    width = max(len(outcome.stage.name) for outcome in outcomes)
    rows = [f"{'stage':{width}} {'seconds':>8} {'CPU':>7} {'budget':>7} {'tests':>6}"]
    rows += [row(outcome, width) for outcome in outcomes]
    rows.append(f"{'in all':{width}} {seconds:8.1f} {sum(each.cpu for each in outcomes):7.1f}")
    return "\n".join(rows)


def row(outcome: Outcome, width: int) -> str:
    over = outcome.seconds > outcome.stage.budget
    mark = "FAILED" if not outcome.ok else "over budget" if over else "ok"
    tests = str(outcome.counts.get("passed", "")) if outcome.counts else ""
    timing = f"{outcome.stage.name:{width}} {outcome.seconds:8.1f} {outcome.cpu:7.1f}"
    return f"{timing} {outcome.stage.budget:7} {tests:>6}  {outcome.left_out or mark}"


def closing_line(outcomes: Sequence[Outcome]) -> str:
    """The totals of tests and checks; a check counts as one test."""
    passed = failed = 0
    for outcome in outcomes:
        if outcome.left_out or (outcome.stage.prepare and outcome.ok):
            continue
        wrong = outcome.counts.get("failed", 0) + outcome.counts.get("error", 0)
        passed += outcome.counts.get("passed", 0) if outcome.counts else int(outcome.ok)
        failed += wrong or int(not outcome.ok)
    return f"{passed} passed, {failed} failed"
