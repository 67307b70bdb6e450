"""The stages of scripts/test: what each runs, its budget, and the table at the end."""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
# A stage over its budget is marked; one that takes this many times its budget hangs and is ended.
PATIENCE = 4
LEAST_PATIENCE = 300
# Most tests wait for processes and databases: three stages at once keep two cores busy.
LANES = 3
# Tests start hundreds of processes; where nothing compiled is kept, each compiles all it imports.
KEEPING = {"PYTHONDONTWRITEBYTECODE": ""}
DETECTION = {"ROOKERY_DETECT_BLOCKING": "1"}
SUMMARY = re.compile(r"(\d+) (passed|failed|errors?)\b")


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing that is run: a command or a preparation, with the seconds it may take."""

    name: str
    budget: int
    command: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[], str] | None = None


@dataclass(slots=True)
class Outcome:
    """How a stage ended."""

    stage: Stage
    seconds: float
    ok: bool
    counts: dict[str, int] = field(default_factory=dict)


def tier(name: str, budget: int, *words: str) -> Stage:
    """A folder of tests. Each runs with the detection of blocking calls switched on."""
    command = (str(BIN / "python"), "-m", "pytest", "-q", *words, f"tests/{name}")
    return Stage(name, budget, command, DETECTION)


def on_mongoose() -> tuple[str, ...]:
    """What shows that Rookery is served by rookery-asgi too; scripts/prove mongoose runs all."""
    paths = (
        "tests/wire/test_raw_requests.py",
        "tests/wire/test_slow_requests.py",
        "tests/wire/test_client.py",
        "tests/acceptance/test_serve.py",
    )
    python = ROOT / ".cache" / "together" / "bin" / "python"
    return (str(python), "-m", "pytest", "-q", "-p", "no:schemathesis", *paths)


def tool(name: str, budget: int, *words: str) -> Stage:
    return Stage(name, budget, (str(BIN / words[0]), *words[1:]))


def find_chromium() -> str:
    """The pages are tested in a real browser: from the PATH, else from the distribution."""
    names = ("chromium", "chromium-browser", "google-chrome")
    if found := next(filter(None, map(shutil.which, names)), None):
        return f"chromium: {found}"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        apt("update")
        apt("install", "-y", "--no-install-recommends", "chromium")
        return f"chromium: installed {shutil.which('chromium')}"
    sys.exit("The page tests need Chromium; ask an administrator for: apt-get install chromium")


def find_stockfish() -> str:
    """A second, real engine for the match tests, where it can be had; ours plays in any case."""
    places = f"{os.environ.get('PATH', '')}:/usr/games"
    if not shutil.which("stockfish", path=places) and os.geteuid() == 0 and shutil.which("apt-get"):
        apt("update")
        apt("install", "-y", "--no-install-recommends", "stockfish")
    found = shutil.which("stockfish", path=places)
    return (
        f"stockfish: {found or 'not installed (apt-get install stockfish); only our engine plays'}"
    )


def find_bubblewrap() -> str:
    """The sandbox is tried both ways: with namespaces of our own, and with bubblewrap's."""
    if not shutil.which("bwrap") and os.geteuid() == 0 and shutil.which("apt-get"):
        apt("update")
        apt("install", "-y", "--no-install-recommends", "bubblewrap")
    if found := shutil.which("bwrap"):
        return f"bubblewrap: {found}"
    sys.exit(
        "The sandbox's tests need bubblewrap; ask an administrator for: apt-get install bubblewrap"
    )


def find_compiler() -> str:
    """The ASGI server has a core in C: from the PATH, else from the distribution."""
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if shutil.which("cc") and header.exists():
        return f"compiler: {shutil.which('cc')}"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        apt("update")
        apt("install", "-y", "gcc", "libc6-dev", "python3-dev")
        return f"compiler: installed {shutil.which('cc')}"
    sys.exit(
        "The ASGI server's tests need a C compiler and Python's headers; ask an administrator for:"
        " apt-get install gcc python3-dev"
    )


def apt(*words: str) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "-qq", *words], env=environment, check=True, stdout=sys.stderr)


# One after the other, and before all tests.
FIRST = (
    Stage("browser", 120, prepare=find_chromium),
    Stage("engine", 60, prepare=find_stockfish),
    Stage("bubblewrap", 60, prepare=find_bubblewrap),
    Stage("compiler", 120, prepare=find_compiler),
    tool("style", 10, "ruff", "check", "."),
    tool("format", 10, "ruff", "format", "--check", "."),
    tool("types", 90, "mypy"),
    tool("imports", 20, "lint-imports", "--no-cache"),
)

# Run beside each other, the longest first; what stands in one line needs what stands before it.
CHAINS = (
    (
        Stage("asgi", 180, ("asgi/scripts/test",), {"PYTHON": sys.executable}),
        # Rookery and rookery-asgi in one environment, no lock's and for the next stage alone.
        tool("together", 60, "python", "scripts/together.py"),
        Stage("mongoose", 60, on_mongoose(), {"ROOKERY_HTTP": "mongoose"} | DETECTION),
    ),
    (tier("acceptance", 240),),
    (tier("faults", 240),),
    (tier("storage", 120),),
    (tier("wire", 90),),
    (tier("pages", 60),),
    (tier("outside", 30),),
    # schemathesis hooks itself into every run and takes a second to load.
    (tier("unit", 10, "-p", "no:schemathesis"),),
)
STAGES = (*FIRST, *(stage for chain in CHAINS for stage in chain))


class Lanes:
    """Runs stages, some at once, each in a process group so that nothing of it stays behind."""

    def __init__(self) -> None:
        self._printing = threading.Lock()
        self._children: set[int] = set()

    def run(self, stage: Stage) -> Outcome:
        started = time.monotonic()
        if stage.prepare:
            self._print(stage, stage.prepare() + "\n")
            return Outcome(stage, time.monotonic() - started, ok=True)
        output, ok = self._output(stage, max(LEAST_PATIENCE, stage.budget * PATIENCE))
        self._print(stage, output)
        return Outcome(stage, time.monotonic() - started, ok, counts_in(output))

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

    def _output(self, stage: Stage, seconds: float) -> tuple[str, bool]:
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
        try:
            output, _ = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, _ = child.communicate()
            return f"{output}\nended after {seconds:.0f} s: it hangs\n", False
        finally:
            self._children.discard(child.pid)
        return output, child.returncode == 0

    def _print(self, stage: Stage, output: str) -> None:
        with self._printing:
            print(f"\n== {stage.name}\n{output}", end="", flush=True)


def counts_in(output: str) -> dict[str, int]:
    """The numbers of pytest's last line."""
    last = next((line for line in reversed(output.splitlines()) if SUMMARY.search(line)), "")
    return {what.rstrip("s"): int(number) for number, what in SUMMARY.findall(last)}


def table(outcomes: Sequence[Outcome], seconds: float) -> str:
    rows = [f"{'stage':12} {'seconds':>8} {'budget':>7} {'tests':>6}"]
    for outcome in outcomes:
        over = outcome.seconds > outcome.stage.budget
        mark = "FAILED" if not outcome.ok else "over budget" if over else "ok"
        tests = str(outcome.counts.get("passed", "")) if outcome.counts else ""
        timing = f"{outcome.stage.name:12} {outcome.seconds:8.1f} {outcome.stage.budget:7}"
        rows.append(f"{timing} {tests:>6}  {mark}")
    rows.append(f"{'in all':12} {seconds:8.1f}")
    return "\n".join(rows)


def closing_line(outcomes: Sequence[Outcome]) -> str:
    """Tests and checks together; a check counts as one test."""
    passed = failed = 0
    for outcome in outcomes:
        if outcome.stage.prepare:
            continue
        wrong = outcome.counts.get("failed", 0) + outcome.counts.get("error", 0)
        passed += outcome.counts.get("passed", 0) if outcome.counts else int(outcome.ok)
        failed += wrong or int(not outcome.ok)
    return f"{passed} passed, {failed} failed"


def chosen(names: Sequence[str]) -> tuple[tuple[Stage, ...], tuple[tuple[Stage, ...], ...]]:
    """What runs first, and the chains then."""
    known = {stage.name for stage in STAGES}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"scripts/test: no stage is called {unknown[0]}; there are {', '.join(known)}")
    wanted = frozenset(names) or known

    def kept(stages: Sequence[Stage]) -> tuple[Stage, ...]:
        return tuple(stage for stage in stages if stage.name in wanted)

    return kept(FIRST), tuple(filter(None, map(kept, CHAINS)))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        description="Runs every check and test tier, or only the stages named.",
        epilog="stages: " + ", ".join(f"{stage.name} ({stage.budget} s)" for stage in STAGES),
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    first, chains = chosen(parser.parse_args().stages)
    started = time.monotonic()
    lanes = Lanes()
    outcomes = [*lanes.run_chain(first), *lanes.run_chains(chains)]
    print("\n" + table(outcomes, time.monotonic() - started))
    print(closing_line(outcomes))
    return 0 if all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
