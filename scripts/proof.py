"""The frame of a proof: its options, a folder of its own that goes with it, what was found wrong,
and how long it took.

A proof says once what can be asked of it, in a class whose fields are the options:

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
"""Gives the code that the program exits with: 0 if the proof holds."""


def option(default: T, words: str | None = None, *, choices: Sequence[T] | None = None) -> T:
    """A field of a proof's options of which there is more to say than its default."""
    field: T = dataclasses.field(default=default, metadata={"help": words, "choices": choices})
    return field


def read_options(wanted: type[T], description: str | None) -> T:
    """What was asked for on the command line of the proof that runs."""
    name = Path(sys.argv[0]).stem.replace("_", "-")
    parser = argparse.ArgumentParser(prog=f"scripts/prove {name}", description=description)
    options: Any = wanted
    for field in dataclasses.fields(options):
        parser.add_argument(f"--{field.name}", **_describe(field))
    given = vars(parser.parse_args())
    return wanted(**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})


def _describe(field: "dataclasses.Field[Any]") -> dict[str, Any]:
    """A default that is a tuple takes several values; one that is False takes none."""
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
    """In a folder that is gone afterwards, on a loop of its own; gives the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        return on(prove(wanted, Path(folder)))


def run_timed(prove: Callable[[T, Path], Proving], wanted: T) -> int:
    """Says in the end how long it took."""
    began = time.monotonic()
    code = run(prove, wanted)
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


def tell_findings(findings: Sequence[str]) -> None:
    """The first of them, to whoever runs it: no page is filed."""
    for finding in findings[:MOST_FINDINGS]:
        print(finding, file=sys.stderr)
