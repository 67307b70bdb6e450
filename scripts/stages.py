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

from scripts.coverage_report import MEASURED, MEASURED_FOLDERS, Unmet, figures_of, report_coverage

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
# A stage that exceeds its budget is marked; at this many times its budget it counts as hanging and
# is ended.
PATIENCE = 3
LEAST_PATIENCE = 300
# How many stages run at once: most tests wait for processes and databases, so four keep two cores
# busy.
LANES = 4
# Keep compiled modules: tests start hundreds of processes, each of which would compile all its
# imports.
KEEPING = {"PYTHONDONTWRITEBYTECODE": ""}
DETECTION = {"ROOKERY_DETECT_BLOCKING": "1"}
ON_ROOKERY_ASGI = {"ROOKERY_HTTP": "rookery-asgi"}
NO_APT = "ROOKERY_NO_APT"
"""If set to 1, nothing is installed by apt-get; scripts/environment reads it too."""
SUMMARY = re.compile(r"(\d+) (passed|failed|errors?)\b")


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: a command or a preparation, with its time budget in seconds."""

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
    """The stage of a folder of tests, which run with the detection of blocking calls switched
    on."""
    python = [str(BIN / "python")]
    if name in MEASURED:
        python += ["-m", "slipcover", "--json", "--source", ",".join(MEASURED_FOLDERS)]
        python += ["--out", str(figures_of(name))]
        words = ("-W", "ignore::pytest.PytestAssertRewriteWarning", *words)
    if name != "wire":
        # This plugin loads in every run and takes a second.
        words = ("-p", "no:schemathesis", *words)
    folders = find_folders(name)
    command = (*python, "-m", "pytest", "-q", *words, *folders)
    return Stage(name, budget, command, DETECTION)


def find_folders(name: str) -> list[str]:
    """The folders of a tier: of each package that has one, and of what crosses packages."""
    places = [*sorted(ROOT.glob(f"packages/*/tests/{name}")), ROOT / "tests" / name]
    return [str(each.relative_to(ROOT)) for each in places if each.is_dir()]


def on_rookery_asgi() -> tuple[str, ...]:
    """A command for some tests of Rookery on rookery-asgi; scripts/prove
    on_rookery_asgi runs all of them."""
    paths = (
        "packages/server/tests/wire/test_raw_requests.py",
        "packages/server/tests/wire/test_request_policy.py",
        "packages/server/tests/wire/test_floods.py",
        "packages/server/tests/wire/test_broken_off.py",
        "packages/server/tests/wire/test_slow_requests.py",
        "packages/server/tests/wire/test_client.py",
        "packages/server/tests/wire/test_client_commands.py",
        "packages/server/tests/wire/worker/test_paths.py",
        "tests/acceptance/test_serve.py",
        "tests/acceptance/test_odd_requests.py",
    )
    python = ROOT / ".cache" / "together" / "bin" / "python"
    return (str(python), "-m", "pytest", "-q", "-p", "no:schemathesis", *paths)


def on_llamaindex() -> tuple[str, ...]:
    """A command for the tests of Ask on LlamaIndex, whose packages no other stage has."""
    python = ROOT / ".cache" / "llamaindex" / "bin" / "python"
    return (str(python), "-m", "pytest", "-q", "-p", "no:schemathesis", *find_folders("llamaindex"))


def tool(name: str, budget: int, *words: str) -> Stage:
    return Stage(name, budget, (str(BIN / words[0]), *words[1:]))


@dataclass(frozen=True, slots=True)
class Program:
    """A program that tests need, and the Debian packages that contain it."""

    commands: tuple[str, ...]
    packages: tuple[str, ...]
    purpose: str
    needed: bool = True

    def find(self) -> str | None:
        places = f"{os.environ.get('PATH', '')}:/usr/games:/usr/sbin"
        return next(filter(None, (shutil.which(each, path=places) for each in self.commands)), None)

    def is_there(self) -> bool:
        # A compiler without Python's headers builds no extension module.
        headers = self.commands != ("cc",) or PYTHON_HEADER.exists()
        return self.find() is not None and headers


PYTHON_HEADER = Path(sysconfig.get_path("include")) / "Python.h"
PROGRAMS = (
    Program(("chromium", "chromium-browser", "google-chrome"), ("chromium",), "the page tests"),
    Program(("stockfish",), ("stockfish",), "matches of a second real engine", needed=False),
    Program(("bwrap",), ("bubblewrap",), "the tests of the sandbox"),
    Program(("nginx",), ("nginx-light",), "the tests of proxies"),
    Program(("haproxy",), ("haproxy",), "the tests of proxies"),
    Program(("ip",), ("iproute2",), "the tests of partitions"),
    Program(("cc",), ("gcc", "libc6-dev", "python3-dev"), "the ASGI server in C"),
)


def install_programs() -> str:
    """Reports missing programs, installs them by apt-get if allowed, and lists what there is."""
    missing = [program for program in PROGRAMS if not program.is_there()]
    packages = [name for program in missing for name in program.packages]
    if packages and may_install():
        print(
            f"scripts/test installs by apt-get: {' '.join(packages)} (--no-apt: it does not)",
            file=sys.stderr,
            flush=True,
        )
        apt("update")
        apt("install", "-y", "--no-install-recommends", *packages)
    if lacking := [each for each in missing if each.needed and not each.is_there()]:
        purposes = ", ".join(dict.fromkeys(each.purpose for each in lacking))
        words = " ".join(name for each in lacking for name in each.packages)
        sys.exit(f"scripts/test: {purposes} need: apt-get install {words}")
    return "\n".join(f"{each.commands[0]}: {each.find() or 'not here'}" for each in PROGRAMS)


def may_install() -> bool:
    allowed = os.environ.get(NO_APT, "") in {"", "0"}
    return allowed and os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt(*words: str) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "-qq", *words], env=environment, check=True, stdout=sys.stderr)


# Stages that run one after the other, before all tests.
FIRST = (
    Stage("programs", 240, prepare=install_programs),
    tool("style", 10, "ruff", "check", "."),
    tool("format", 10, "ruff", "format", "--check", "."),
)

# Chains run in parallel, longest first; within a chain, each stage needs the ones before it.
CHAINS = (
    (tier("acceptance", 560),),
    (tier("faults", 450),),
    (
        Stage("asgi", 310, ("asgi/scripts/test",), {"PYTHON": sys.executable}),
        # Both Rookery and rookery-asgi in one environment without a lock, for the next stage only.
        tool("together", 60, "python", "scripts/together.py"),
        Stage("on_rookery_asgi", 150, on_rookery_asgi(), ON_ROOKERY_ASGI | DETECTION),
    ),
    (tier("storage", 370),),
    (tier("wire", 310),),
    (tier("pages", 260),),
    (tier("takeovers", 270),),
    (tier("unit", 110),),
    (tool("types", 90, "mypy"), tool("imports", 20, "lint-imports", "--no-cache")),
    (tier("outside", 90),),
    (tool("pythons", 180, "python", "scripts/pythons.py"),),
    (
        # Fetches 40 packages once, and again only when their lock changes.
        tool("packages", 90, "python", "scripts/with_llamaindex.py"),
        Stage("llamaindex", 60, on_llamaindex(), DETECTION),
    ),
)
# Runs after all others, because it adds up the results of the measured tiers.
LAST = (Stage("coverage", 10, prepare=report_coverage),)
STAGES = (*FIRST, *(stage for chain in CHAINS for stage in chain), *LAST)


class Lanes:
    """Runs stages, several at once, each in a process group so that nothing of it is left
    running."""

    def __init__(self) -> None:
        self._printing = threading.Lock()
        self._children: set[int] = set()

    def run(self, stage: Stage) -> Outcome:
        started = time.monotonic()
        if stage.prepare:
            try:
                words, ok = stage.prepare(), True
            except Unmet as unmet:
                words, ok = str(unmet), False
            self._print(stage, words + "\n")
            return Outcome(stage, time.monotonic() - started, ok)
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
    """The counts in pytest's last line."""
    last = next((line for line in reversed(output.splitlines()) if SUMMARY.search(line)), "")
    return {what.rstrip("s"): int(number) for number, what in SUMMARY.findall(last)}


def table(outcomes: Sequence[Outcome], seconds: float) -> str:
    width = max(len(stage.name) for stage in STAGES)
    rows = [f"{'stage':{width}} {'seconds':>8} {'budget':>7} {'tests':>6}"]
    for outcome in outcomes:
        over = outcome.seconds > outcome.stage.budget
        mark = "FAILED" if not outcome.ok else "over budget" if over else "ok"
        tests = str(outcome.counts.get("passed", "")) if outcome.counts else ""
        timing = f"{outcome.stage.name:{width}} {outcome.seconds:8.1f} {outcome.stage.budget:7}"
        rows.append(f"{timing} {tests:>6}  {mark}")
    rows.append(f"{'in all':{width}} {seconds:8.1f}")
    return "\n".join(rows)


def closing_line(outcomes: Sequence[Outcome]) -> str:
    """The totals of tests and checks; a check counts as one test."""
    passed = failed = 0
    for outcome in outcomes:
        if outcome.stage.prepare and outcome.ok:
            continue
        wrong = outcome.counts.get("failed", 0) + outcome.counts.get("error", 0)
        passed += outcome.counts.get("passed", 0) if outcome.counts else int(outcome.ok)
        failed += wrong or int(not outcome.ok)
    return f"{passed} passed, {failed} failed"


Chains = tuple[tuple[Stage, ...], ...]


def choose(names: Sequence[str]) -> tuple[tuple[Stage, ...], Chains, tuple[Stage, ...]]:
    """Selects stages: those that run first, the chains, and those that run last. A selection of
    tiers is not compared with the floor of coverage."""
    known = {stage.name for stage in STAGES}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"scripts/test: no stage is called {unknown[0]}; there are {', '.join(known)}")
    wanted = frozenset(names) or known

    def kept(stages: Sequence[Stage]) -> tuple[Stage, ...]:
        return tuple(stage for stage in stages if stage.name in wanted)

    return kept(FIRST), tuple(filter(None, map(kept, CHAINS))), kept(LAST)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        description="Runs every check and test tier, or only the stages named.",
        epilog="stages: " + ", ".join(f"{stage.name} ({stage.budget} s)" for stage in STAGES),
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    parser.add_argument("--no-apt", action="store_true", help=f"install nothing [{NO_APT}=1]")
    parsed = parser.parse_args()
    if parsed.no_apt:
        os.environ[NO_APT] = "1"
    first, chains, last = choose(parsed.stages)
    started = time.monotonic()
    lanes = Lanes()
    outcomes = [*lanes.run_chain(first), *lanes.run_chains(chains), *lanes.run_chain(last)]
    print("\n" + table(outcomes, time.monotonic() - started))
    print(closing_line(outcomes))
    return 0 if all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
