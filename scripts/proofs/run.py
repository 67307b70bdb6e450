"""Finds proofs by name, runs them one after the other and files their output."""

import argparse
import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "scripts" / "proofs"
sys.path.insert(0, str(ROOT))

from scripts import filing, supervised  # noqa: E402 the scripts are found above
from scripts.together import build_asgi  # noqa: E402 the scripts are found above
from scripts.together import python as python_with_both  # noqa: E402 the scripts are found above
from tests.places import IMPORTED  # noqa: E402 the tests are found above

ALL = "all"
MINUTES: Mapping[str, int] = {
    "asgi_clients": 1,
    "asgi_conformance": 15,
    "asgi_fuzz": 11,
    "asgi_soak": 11,
    "backup": 4,
    "crowd": 14,
    "fastchess": 4,
    "files_in_s3": 26,
    "fleet": 5,
    "fleet_kills": 10,
    "floods": 266,
    "forwarding": 5,
    "full_disk": 4,
    "fuzz": 7,
    "idle": 11,
    "kills": 13,
    "match": 7,
    "mission": 67,
    "odd_requests": 14,
    "on_rookery_asgi": 10,
    "partition": 25,
    "promotion": 5,
    "reconnect": 9,
    "restart": 4,
    "sprt": 13,
    "storage": 5,
    "subscribers": 4,
    "syzygy": 1,
    "takeover": 25,
    "upgrade": 15,
    "worker_kills": 5,
}
"""The usual duration of each proof on two cores without other load."""

OF_BOTH_SERVERS = frozenset({"floods", "odd_requests"})
READS_OPTIONS = ("ArgumentParser(", "read_options(")
"""The text of a proof that takes options contains one of these."""

QUIETLY = """
import runpy, sys
from tests.places import IMPORTED  # noqa: E402 the tests are found above
sys.argv = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/")[0]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except KeyboardInterrupt:
    sys.exit(130)
"""
"""Code that runs a proof as if by its path, but without a traceback when it was asked to stop."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parsed command line; `words` are arguments for a single proof."""

    names: tuple[str, ...]
    words: tuple[str, ...]
    pages: Path


def purpose(path: Path) -> str:
    """The first line of a proof's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]


def known() -> dict[str, Path]:
    return {path.stem: path for path in sorted(PROOFS.glob("*.py")) if path.stem != "run"}


def environment(name: str) -> tuple[str, dict[str, str]]:
    """The interpreter and variables of a proof; proofs of the ASGI server run in its own
    environment, and those of both servers in one that has both."""
    if name.startswith("asgi_"):
        return str(build_asgi()), dict(os.environ)
    interpreter = str(python_with_both()) if name in OF_BOTH_SERVERS else sys.executable
    return interpreter, os.environ | {"PYTHONPATH": IMPORTED}


def prove(name: str, wanted: Wanted, commit: str) -> bool:
    """Runs a proof and shows its output; files it only if the proof held. After Ctrl-C it raises
    KeyboardInterrupt when the proof has ended."""
    path, lines = known()[name], list[str]()
    command = " ".join(("scripts/prove", name, *wanted.words))
    page = filing.Page(name, purpose(path), command, commit, datetime.now(UTC))
    try:
        interpreter, variables = environment(name)
    except subprocess.CalledProcessError as failed:
        tell(f"{name} can't be run here: {failed}")
        return False
    began = time.monotonic()

    def hear(line: str) -> None:
        print(line, end="", flush=True)
        lines.append(line)

    words = (interpreter, "-u", "-c", QUIETLY, str(path), *wanted.words)
    ending = supervised.run(words, ROOT, variables, hear)
    for left in ending.left:
        tell(f"{name} left a process behind, which was ended: {left}")
    if ending.interrupted:
        raise KeyboardInterrupt
    if not ending.well:
        tell(f"{name} did not hold; its verdict is unchanged")
        return False
    said, took = "".join(lines), elapsed(began)
    tell(f"held; its output is in {filing.file(page, wanted.pages, said, took)}")
    if wanted.pages == filing.OUTPUT:
        tell(f"its verdict is in {filing.file_verdict(page, filing.VERDICTS, said, took)}")
    return True


def elapsed(began: float) -> float:
    return time.monotonic() - began


def prove_all(wanted: Wanted) -> int:
    """Runs all proofs one after the other, even if some fail; prints at the end which held."""
    commit = filing.commit()
    held: dict[str, bool] = {}
    minutes = sum(MINUTES.get(name, 0) for name in wanted.names)
    for name in wanted.names:
        usual = f"usually takes {MINUTES.get(name, 0)} min"
        of_all = f" ({len(held) + 1} of {len(wanted.names)}, {minutes} min in all)"
        tell(f"{name} {usual}" + (of_all if len(wanted.names) > 1 else ""))
        held[name] = prove(name, wanted, commit)
    if len(held) > 1:
        for name, well in held.items():
            tell(f"{name:16} {'held' if well else 'DID NOT HOLD'}")
    return 0 if all(held.values()) else 1


def tell(words: str) -> None:
    print(f"scripts/prove: {words}", file=sys.stderr, flush=True)


def listing() -> str:
    lines = [
        f"  {name:16} {MINUTES.get(name, 0):3} min  {purpose(path)}"
        for name, path in known().items()
    ]
    return "\n".join(["proofs, and how long each usually takes on two quiet cores:", *lines])


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/prove",
        usage="scripts/prove [--pages FOLDER] NAME ... | all, or NAME [its own options]",
        description="Runs proofs in turn and files what each said and its verdict.",
        epilog=listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="names, durations and purposes")
    parser.add_argument(
        "--pages",
        type=Path,
        default=filing.OUTPUT,
        help="write the output there, and leave the verdicts as they are (for trials)",
    )
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def wanted_by(words: list[str]) -> Wanted | None:
    """Parses the command line; None if only the list is wanted."""
    parser, proofs = arguments(), known()
    asked = parser.parse_args(words)
    if asked.list or not asked.words:
        return None
    spelled = [word if word.startswith("-") else word.replace("-", "_") for word in asked.words]
    names = tuple(takewhile(lambda word: word in proofs or word == ALL, spelled))
    rest = tuple(asked.words[len(names) :])
    if not names:
        parser.error(f"there is no proof {asked.words[0]}; scripts/prove --list names them")
    if ALL in names:
        names = tuple(proofs)
    if rest and len(names) > 1:
        parser.error(f"{rest[0]} is no proof, and options go with one proof at a time")
    return Wanted(names, rest, asked.pages)


def show_help(name: str) -> int:
    """Prints a proof's description without running it, even for one that takes no options and would
    begin at once."""
    path = known()[name]
    text = path.read_text()
    if not any(word in text for word in READS_OPTIONS):
        print(ast.get_docstring(ast.parse(text)))
        return 0
    interpreter, variables = environment(name)
    words = (interpreter, str(path), "--help")
    return subprocess.run(words, cwd=ROOT, env=variables, check=False).returncode


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    wanted = wanted_by(sys.argv[1:])
    if wanted is None:
        print(listing())
        return 0
    if {"-h", "--help"} & set(wanted.words):
        return show_help(wanted.names[0])
    # Also if a shell has set it to be ignored, as for background jobs.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        return prove_all(wanted)
    except KeyboardInterrupt:
        tell("interrupted; nothing was left running")
        return 130


if __name__ == "__main__":
    sys.exit(main())
