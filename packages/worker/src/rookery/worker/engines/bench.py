"""Runs an engine's bench for its node count and speed, on as many slots as games will be played.

A single bench on an idle machine has a core's full boost and all of its cache. That speed is never
reached again once every slot plays.

If a record has no pattern, the usual formats are read: engines end their bench with a line such as
`2946917 nodes 1180000 nps`, `Nodes searched : 2030154` or `Bench: 17 nodes, NPS = 5`. Many print
lines of their searches before it, with other node counts and speeds.
"""

import asyncio
import contextlib
import re
import shlex
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from time import perf_counter

import msgspec

from rookery.core.errors import describe_exit
from rookery.core.model.engine import STOCKFISH, EngineRecord
from rookery.worker.engines.orders import BenchFailed, BenchResult
from rookery.worker.engines.programs import Output, Program, TooLong, run_program
from rookery.worker.sandbox.sandbox import NO_SANDBOX, BuiltEngine, Sandbox

# Searches a text for a record's pattern in a separate process.
#
# Whoever wrote the record chose the pattern, and a malicious one would search for hours. That must
# not happen in the worker itself.

SECONDS = 20.0
MOST_TEXT = 2**20
KNOWN = frozenset({STOCKFISH.bench.pattern})
"""Trusted patterns, whose search time is proportional to the text."""
SEARCH = """
import json, re, sys
pattern, text = json.load(sys.stdin)
found = None
for found in re.finditer(pattern, text): pass
print(json.dumps(None if found is None else found.groups()))
"""


class BadBenchPattern(Exception):
    """A pattern that can't be used for searching."""


Groups = tuple[str | None, ...]


async def find_last_match(pattern: str, text: str) -> Groups | None:
    """Return the groups of the last match of a pattern in a text. Raise BadBenchPattern."""
    text = text[-MOST_TEXT:]
    if pattern in KNOWN:
        found = list(re.finditer(pattern, text))
        return found[-1].groups() if found else None
    return await _elsewhere(pattern, text)


async def _elsewhere(pattern: str, text: str) -> Groups | None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", SEARCH, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}
    )
    try:
        async with asyncio.timeout(SECONDS):
            asked = msgspec.json.encode((pattern, text))
            answer, _ = await process.communicate(asked)
            return msgspec.json.decode(answer, type=Groups | None)
    except (TimeoutError, msgspec.MsgspecError):
        raise BadBenchPattern from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


PATIENCE_SECONDS = 600.0
NOISY_SPREAD = 0.15
"""If the slots' speeds differ by more than this, the machine is busy with other work."""
LONGEST_LINE = 500
"""Longer lines are not results of a bench."""
_TOKEN = re.compile(
    r"(?P<speed>nps\b|nodes?\s?(?:/|per)\s?s(?:ec(?:onds?)?)?\b)"
    r"|(?P<nodes>nodes\b(?:\s{1,9}searched\b)?)"
    r"|(?P<number>\d[\d.,_']{0,30})|(?P<sign>[:=])|(?P<other>[^\W\d]+)",
    re.IGNORECASE,
)


async def bench(
    built: BuiltEngine,
    record: EngineRecord,
    *,
    slots: int,
    signature: int | None = None,
    seconds: float = PATIENCE_SECONDS,
    sandbox: Sandbox = NO_SANDBOX,
) -> BenchResult:
    """Run the bench on all slots at once, after a warm-up. Raises BenchFailed."""
    benching = replace(built, command=(*built.command, *_words(record)))
    once = partial(_one, Program(sandbox.playing(benching), seconds=seconds), record)
    first = await once()
    _check(first.nodes, record, signature)
    # Measure again even for one slot, because the warm-up read the program from the disk.
    found = await asyncio.gather(*(once() for _ in range(max(slots, 1))))
    if len({first.nodes, *(each.nodes for each in found)}) > 1 and record.bench.must_match:
        raise BenchFailed(
            f"The bench of {record.name} counts a different number of nodes each time."
        )
    speeds = [each.nps for each in found]
    mean = fmean(speeds)
    return BenchResult(first.nodes, mean, (max(speeds) - min(speeds)) / mean if mean else 0.0)


def _words(record: EngineRecord) -> list[str]:
    try:
        return shlex.split(record.bench.command)
    except ValueError:
        sentence = f"The bench command of {record.name} has a quote without an end."
        raise BenchFailed(sentence) from None


def _check(nodes: int, record: EngineRecord, signature: int | None) -> None:
    if signature is not None and record.bench.must_match and nodes != signature:
        raise BenchFailed(f"The bench of {record.name} is {nodes}, but should be {signature}.")


async def _one(program: Program, record: EngineRecord) -> BenchResult:
    began = perf_counter()
    text = await _said(program, record)
    return await read_bench(text, record, perf_counter() - began)


async def read_bench(text: str, record: EngineRecord, seconds: float) -> BenchResult:
    """Return the nodes and speed of a bench. If the text has no speed, it is computed from the
    elapsed time."""
    lines = [line for line in text.splitlines() if not _tells_a_search(line)]
    nodes, speed = find_last_counts(lines)
    if record.bench.pattern:
        try:
            found = await find_last_match(record.bench.pattern, "\n".join(lines))
        except BadBenchPattern:
            sentence = f"The bench pattern of {record.name} can't be searched for."
            raise BenchFailed(sentence, text) from None
        nodes = _number(found[0]) if found and found[0] else None
        speed = _number(found[1]) if found and len(found) > 1 and found[1] else speed
    if not nodes:
        raise BenchFailed(f"The bench of {record.name} prints no number of nodes.", text)
    return BenchResult(nodes, float(speed or 0) or nodes / max(seconds, 1e-6))


def _tells_a_search(line: str) -> bool:
    """Whether the line is an `info` line of UCI, whose node count is not that of the bench."""
    words = line.split(maxsplit=2)
    return words[:1] == ["info"] and words[1:2] != ["string"]


def find_last_counts(lines: Sequence[str]) -> tuple[int | None, int | None]:
    """Return the nodes and the speed in the last lines that have them."""
    nodes = speed = None
    for line in reversed(lines):
        if len(line) > LONGEST_LINE:
            continue
        found = _counts_of(line)
        nodes = found.get("nodes") if nodes is None else nodes
        speed = found.get("speed") if speed is None else speed
        if nodes is not None and speed is not None:
            break
    return nodes, speed


def _counts_of(line: str) -> dict[str, int]:
    """Return the numbers in a line by name: after a sign (`nodes: 5`), else before the name (`5
    nodes`), else after it (`nodes 5`)."""
    tokens = [(str(token.lastgroup), token[0]) for token in _TOKEN.finditer(line)]
    kinds = [kind for kind, _ in tokens]
    found: dict[str, int] = {}
    follows: bool | None = None
    taken = -1
    for place, kind in enumerate(kinds):
        if kind not in ("nodes", "speed"):
            continue
        precedes = place > 0 and kinds[place - 1] == "number" and taken != place - 1
        if kinds[place + 1 : place + 3] == ["sign", "number"]:
            taken = place + 2
        else:
            follows = not precedes if follows is None else follows
            taken = place + 1 if follows else place - 1
        if 0 <= taken < len(tokens) and kinds[taken] == "number":
            found[kind] = _number(tokens[taken][1])
    return found


def _number(text: str) -> int:
    """Parse a number whose thousands may be separated by commas or dots."""
    return int("".join(filter(str.isdecimal, text))[:18] or "0")


async def _said(program: Program, record: EngineRecord) -> str:
    output = Output()
    try:
        code = await run_program(program, output)
    except OSError as error:
        raise BenchFailed(f"The bench of {record.name} could not be run: {error}.") from None
    except TooLong:
        sentence = f"The bench of {record.name} did not end within {program.seconds:.0f} s."
        raise BenchFailed(sentence, output.text) from None
    if code:
        raise BenchFailed(f"The bench of {record.name} {describe_exit(code)}.", output.text)
    return output.text
