"""The stages of scripts/test: what each runs, which of them a call runs, and in which order."""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts import quick
from scripts.coverage_report import MEASURED, MEASURED_FOLDERS, figures_of, report_coverage
from scripts.lanes import Lanes, Outcome, Stage, closing_line, table
from scripts.programs import NO_APT, install_programs
from scripts.stamps import read_stamp

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
DETECTION = {"ROOKERY_DETECT_BLOCKING": "1"}
ON_ROOKERY_ASGI = {"ROOKERY_HTTP": "rookery-asgi"}
NEVER = str(10**9)
"""Passes over lines after which slipcover takes its counting out of them. That is worth its while
for loops that run long, but takes the event loop's time, which the tests detect."""
ALONE = ("core", "cli", "match", "worker")
"""The packages whose tests must pass without the server."""


def tier(name: str, budget: int) -> Stage:
    """The stage of a folder of tests, which run with the detection of blocking calls switched
    on."""
    return Stage(name, budget, run_tests(name, *find_folders(name)), DETECTION, tier=name)


def halves(name: str, budget: int) -> tuple[tuple[Stage], tuple[Stage]]:
    """A long tier in two chains, each with every second file, so that the lanes end together. The
    tier's name stands for both."""
    files = sorted(str(file) for folder in find_folders(name) for file in find_tests(folder))

    def half(number: int) -> tuple[Stage]:
        command = run_tests(f"{name}_{number}", *files[number - 1 :: 2])
        return (Stage(f"{name}_{number}", budget, command, DETECTION, tier=name),)

    return half(1), half(2)


def run_tests(stage: str, *places: str, measured: bool = True) -> tuple[str, ...]:
    """The command that runs tests; slipcover counts their lines if the stage is a measured one."""
    words = [] if stage == "wire" else ["-p", "no:schemathesis"]  # it takes a second to load
    counting = []
    if measured and stage in MEASURED:
        counting = ["-m", "slipcover", "--json", "--source", ",".join(MEASURED_FOLDERS)]
        counting += ["--threshold", NEVER, "--out", str(figures_of(stage))]
        words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return (str(BIN / "python"), *counting, "-m", "pytest", "-q", *words, *places)


def find_tests(folder: str) -> Iterator[Path]:
    return (file.relative_to(ROOT) for file in (ROOT / folder).rglob("test_*.py"))


def alone(package: str, budget: int) -> Stage:
    """The tests of a package that sees no other package but those that it may import."""
    command = ("python", "scripts/alone.py", package, "-q", "-p", "no:schemathesis")
    return tool(f"{package}_alone", budget, *command)


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


# Stages that run one after the other, before all tests.
FIRST = (
    Stage("programs", 240, prepare=install_programs),
    tool("style", 10, "ruff", "check", "."),
    tool("format", 10, "ruff", "format", "--check", "."),
)

# Chains run in parallel, longest first; within a chain, each stage needs the ones before it.
CHAINS = (
    *halves("acceptance", 300),
    (tier("wire", 400),),
    (
        Stage("asgi", 400, ("asgi/scripts/test",), {"PYTHON": sys.executable}),
        # Both Rookery and rookery-asgi in one environment without a lock, for the next stage only.
        tool("together", 60, "python", "scripts/together.py"),
        Stage("on_rookery_asgi", 150, on_rookery_asgi(), ON_ROOKERY_ASGI | DETECTION),
    ),
    (tier("takeovers", 300),),
    *halves("faults", 300),
    *halves("storage", 300),
    (tier("pages", 260),),
    (tier("unit", 120),),
    tuple(alone(package, 30) for package in ALONE),
    (tool("types", 90, "mypy"), tool("imports", 20, "lint-imports", "--no-cache")),
    (tier("outside", 90),),
    (tool("pythons", 180, "python", "-m", "scripts.pythons"),),
    (
        # Fetches 40 packages once, and again only when their lock changes.
        tool("packages", 90, "python", "scripts/with_llamaindex.py"),
        Stage("llamaindex", 60, on_llamaindex(), DETECTION),
    ),
)
# Runs after all others, because it adds up the results of the measured tiers.
LAST = (Stage("coverage", 10, prepare=report_coverage),)
STAGES = (*FIRST, *(stage for chain in CHAINS for stage in chain), *LAST)


# What a whole run leaves out if it passed here and none of its inputs changed since. A group ends
# with its tests; what precedes them only prepares them. Of the server, what runs on rookery-asgi
# reads what stands between it and the features, which all other stages try.
STAMPED = {
    ("asgi",): ("asgi", "scripts/stages.py"),
    ("together", "on_rookery_asgi"): (
        "asgi",
        "locks/test.txt",
        "packages/core/src/rookery/core/boundary",
        "packages/server/src/rookery/server/app",
        "packages/server/src/rookery/server/boundary",
        "packages/server/src/rookery/server/commands",
        "packages/server/src/rookery/server/http",
        "packages/server/tests/wire",
        "scripts/stages.py",
        "scripts/together.py",
        "tests/acceptance",
    ),
    ("packages", "llamaindex"): (
        "locks/llamaindex.txt",
        "locks/test.txt",
        "packages/core/src/rookery/core/boundary",
        "packages/core/src/rookery/core/protocol",
        "packages/llamaindex",
        "packages/server/src/rookery/server/ask",
        "packages/server/src/rookery/server/db",
        "packages/server/tests/wire/test_ask.py",
        "scripts/stages.py",
        "scripts/with_llamaindex.py",
        "tests/database.py",
        "tests/people.py",
    ),
}
Chains = tuple[tuple[Stage, ...], ...]
Parts = tuple[tuple[Stage, ...], Chains, tuple[Stage, ...]]


def choose(names: Sequence[str]) -> Parts:
    """Selects stages: those that run first, the chains, and those that run last. A selection of
    tiers is not compared with the floor of coverage."""
    known = {name for stage in STAGES for name in (stage.name, stage.tier) if name}
    if unknown := [name for name in names if name not in known]:
        sys.exit(
            f"scripts/test: no stage is called {unknown[0]}; there are {', '.join(sorted(known))}"
        )
    wanted = frozenset(names) or known

    def kept(stages: Sequence[Stage]) -> tuple[Stage, ...]:
        return tuple(each for each in stages if {each.name, each.tier} & wanted)

    return kept(FIRST), tuple(filter(None, map(kept, CHAINS))), kept(LAST)


def choose_quick() -> Parts:
    """Style, types, the unit tests without counting their lines, and the tests that the change
    touches; says which those are."""
    change = quick.read_change()
    touched = quick.select(change, quick.read_tests())
    print(quick.describe(change, touched))
    chains: list[tuple[Stage, ...]] = [
        (Stage("unit", 60, run_tests("unit", *find_folders("unit"), measured=False), DETECTION),),
        (tool("types", 60, "mypy"),),
    ]
    if touched.run:
        stage = "wire" if any(quick.tier_of(each) == "wire" for each in touched.run) else "touched"
        command = run_tests(stage, *touched.run, measured=False)
        chains.append((Stage("touched", 60, command, DETECTION),))
    ran = {stage.name for chain in chains for stage in (*FIRST, *chain)}
    print(
        "  leaves out the stages", ", ".join(each.name for each in STAGES if each.name not in ran)
    )
    return tuple(each for each in FIRST if each.prepare is None), tuple(chains), ()


class Remembered:
    """The stages that a whole run leaves out, each with the reason, and the stamps of all that may
    be left out."""

    def __init__(self, stamped: Mapping[tuple[str, ...], Sequence[str]]) -> None:
        read = {names: read_stamp(names[-1], inputs) for names, inputs in stamped.items()}
        self._stamps = {names: stamp for names, stamp in read.items() if stamp is not None}
        self.left_out = {
            name: why
            for names, stamp in self._stamps.items()
            if (why := stamp.why_passed())
            for name in names
        }

    def learn(self, outcomes: Sequence[Outcome]) -> None:
        """Keeps the stamps of what passed, and drops those of what failed."""
        ended = {each.stage.name: each for each in outcomes if not each.left_out}
        for names, stamp in self._stamps.items():
            if ended.keys() >= set(names):
                passed = all(ended[name].ok for name in names)
                stamp.keep() if passed else stamp.forget()


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        description="Runs every check and test tier, or only the stages named.",
        epilog="stages: " + ", ".join(f"{stage.name} ({stage.budget} s)" for stage in STAGES),
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    parser.add_argument(
        "--quick", action="store_true", help="style, types, unit tests and what the change touches"
    )
    parser.add_argument(
        "--all", action="store_true", help="leave nothing out that passed here and is unchanged"
    )
    parser.add_argument("--no-apt", action="store_true", help=f"install nothing [{NO_APT}=1]")
    parsed = parser.parse_args()
    if parsed.quick and parsed.stages:
        parser.error("--quick names its stages itself")
    return parsed


def main() -> int:
    parsed = read_arguments()
    if parsed.no_apt:
        os.environ[NO_APT] = "1"
    remembered = Remembered(STAMPED)
    named = parsed.quick or parsed.stages or parsed.all
    parts = choose_quick() if parsed.quick else choose(parsed.stages)
    started = time.monotonic()
    outcomes = run_parts(parts, {} if named else remembered.left_out)
    remembered.learn(outcomes)
    print("\n" + table(outcomes, time.monotonic() - started))
    print(closing_line(outcomes))
    return 0 if all(outcome.ok for outcome in outcomes) else 1


def run_parts(parts: Parts, left_out: Mapping[str, str]) -> list[Outcome]:
    first, chains, last = parts
    lanes = Lanes(left_out)
    return [*lanes.run_chain(first), *lanes.run_chains(chains), *lanes.run_chain(last)]


if __name__ == "__main__":
    sys.exit(main())
