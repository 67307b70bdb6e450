"""The frame of a proof: its options, a temporary folder, its findings, and the time it took.

A proof declares its options as fields of a class:

    @dataclass(frozen=True, slots=True)
    class Wanted:
        rounds: int = 12
        seconds: float = option(60.0, "how long each takes")

and ends with `sys.exit(run_timed(prove, read_options(Wanted, __doc__)))`.
"""

import argparse
import asyncio
import dataclasses
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

MOST_FINDINGS = 20

T = TypeVar("T")
Proving = Coroutine[Any, Any, int]
"""Returns the program's exit code: 0 if the proof holds."""


def option(default: T, words: str | None = None, *, choices: Sequence[T] | None = None) -> T:
    """A field of a proof's options with more than a default."""
    field: T = dataclasses.field(default=default, metadata={"help": words, "choices": choices})
    return field


def read_options(wanted: type[T], description: str | None) -> T:
    """The options on the command line of the running proof."""
    name = Path(sys.argv[0]).stem.replace("_", "-")
    parser = argparse.ArgumentParser(prog=f"scripts/prove {name}", description=description)
    options: Any = wanted
    for field in dataclasses.fields(options):
        parser.add_argument(f"--{field.name}", **_describe(field))
    given = vars(parser.parse_args())
    return wanted(**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})


def _describe(field: "dataclasses.Field[Any]") -> dict[str, Any]:
    """The arguments of argparse for a field: a default that is a tuple takes several values, and
    one that is False takes none."""
    default, more = field.default, {"help": field.metadata.get("help")}
    if default is False:
        return more | {"action": "store_true"}
    if isinstance(default, tuple):
        return more | {"nargs": "+", "type": type(default[0]), "default": default}
    choices = {"choices": field.metadata.get("choices")}
    return more | choices | {"type": type(default), "default": default}


def run(
    prove: Callable[[T, Path], Proving], wanted: T, *, on: Callable[[Proving], int] = asyncio.run
) -> int:
    """Runs a proof in a temporary folder on its own loop; returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        return on(prove(wanted, Path(folder)))


def run_timed(prove: Callable[[T, Path], Proving], wanted: T) -> int:
    """Runs a proof, and prints how long it took."""
    began = time.monotonic()
    code = run(prove, wanted)
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


def tell_findings(findings: Sequence[str]) -> None:
    """Prints the first findings for the person who runs the proof, since no page is filed."""
    for finding in findings[:MOST_FINDINGS]:
        print(finding, file=sys.stderr)
