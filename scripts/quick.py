"""What a change touches: the tests that `scripts/test --quick` runs beside the unit tests.

A changed file of a feature's folder, as `packages/server/src/rookery/server/runs/run/page.html`,
selects the tests whose paths bear the folder's name (`run`; if there are none, the name of the one
above) and those that import the module, or what lies beside a template, script or query. A changed
test selects itself, a changed helper of tests what imports it. Tests of browsers and of many
processes are selected only when they changed themselves.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
MOST = 20
"""So many test files of the tiers that start servers and databases take about a minute."""
SLOW = frozenset({"pages", "acceptance", "faults", "takeovers"})
ELSEWHERE = frozenset({"unit", "llamaindex"})
"""Tiers of which --quick runs all or nothing."""
COMMON = frozenset({"api", "page", "rule", "test", "command", "show", "model"})
"""Words in folders' names that say nothing of a feature."""
SOURCE = re.compile(r"packages/(?P<package>\w+)/src/rookery/(?P=package)/(?P<below>.+)")
IMPORT = re.compile(
    r"^\s*(?:from (?P<where>[\w.]+) import (?P<names>\([^)]*\)|.*)|import (?P<what>[\w.]+))",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Change:
    """The files that differ from a commit, which `against` names in words."""

    files: tuple[str, ...]
    against: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The test files that a change touches: those to run, and those left to a whole run."""

    run: tuple[str, ...]
    left_out: tuple[str, ...]


def read_change(root: Path = ROOT) -> Change:
    """What differs from the last commit; in a clean tree, what the last commit itself changed."""
    added = _git(root, "ls-files", "--others", "--exclude-standard")
    files = {*_git(root, "diff", "--name-only", "HEAD"), *added}
    if files:
        return Change(tuple(sorted(files)), "the last commit")
    files = set(_git(root, "diff", "--name-only", "HEAD^", "HEAD"))
    return Change(tuple(sorted(files)), "the commit before the last")


def _git(root: Path, *words: str) -> list[str]:
    ran = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


def read_tests(root: Path = ROOT) -> dict[str, str]:
    """The texts of all test files of tiers that --quick does not run anyway."""
    places = (*root.glob("packages/*/tests"), root / "tests")
    files = (file for place in places for file in place.rglob("test_*.py"))
    return {str(each.relative_to(root)): each.read_text(encoding="utf-8") for each in files}


def select(change: Change, tests: Mapping[str, str], most: int = MOST) -> Selection:
    """The tests to run and those left out, nearest first: the changed ones, then those of the
    changed folders, then those that import what changed."""
    themselves = [each for each in change.files if each in tests]
    modules = {module for file in change.files for module in list_modules(file)}
    named = [file for each in change.files for file in list_namesakes(each, tests)]
    importing = [file for file in sorted(tests) if modules & set(list_imports(tests[file]))]
    found = [
        each
        for each in dict.fromkeys([*themselves, *named, *importing])
        if tier_of(each) not in ELSEWHERE
    ]
    fit = [each for each in found if each in themselves or tier_of(each) not in SLOW]
    run = tuple(fit[:most])
    return Selection(run, tuple(each for each in found if each not in run))


def list_namesakes(file: str, tests: Iterable[str]) -> list[str]:
    """The tests whose paths bear the name of the innermost folder of a source file that has any."""
    if not (found := SOURCE.fullmatch(file)):
        return []
    for folder in reversed(PurePosixPath(found["below"]).parent.parts):
        wanted = words_in(folder) - COMMON
        if bearing := [each for each in sorted(tests) if wanted & words_in(below_tier(each))]:
            return bearing
    return []


def words_in(path: str) -> set[str]:
    """The words of a path in the singular."""
    return {each.removesuffix("s") for each in re.split(r"[/_.]", path)}


def below_tier(test: str) -> str:
    return test.partition(f"tests/{tier_of(test)}/")[2].removesuffix(".py")


def list_modules(file: str) -> Iterator[str]:
    """The modules by whose import a file is used: its own, or those beside it."""
    path = PurePosixPath(file)
    if path.suffix == ".py":
        yield module_of(path)
    elif SOURCE.fullmatch(file):
        beside = sorted((ROOT / path.parent).glob("*.py"))
        yield from (module_of(path.parent / each.name) for each in beside)


def module_of(path: PurePosixPath) -> str:
    """The name by which a file of this checkout is imported."""
    parts = list(path.with_suffix("").parts)
    for root in ("rookery", "tests"):
        if root in parts:
            parts = parts[parts.index(root) :]
            break
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def list_imports(text: str) -> Iterator[str]:
    """The modules that a text imports; what is imported from one may be a module, too."""
    for found in IMPORT.finditer(text):
        yield found["where"] or found["what"]
        for name in re.findall(r"\w+", found["names"] or ""):
            yield f"{found['where']}.{name}"


def tier_of(test: str) -> str:
    parts = PurePosixPath(test).parts
    return parts[parts.index("tests") + 1]


def describe(change: Change, selection: Selection) -> str:
    """What is run and what is not, for people."""
    lines = [f"{len(change.files)} files differ from {change.against}"]
    lines += [f"  runs {each}" for each in selection.run]
    lines += [f"  leaves out {each}" for each in selection.left_out]
    return "\n".join(lines)
