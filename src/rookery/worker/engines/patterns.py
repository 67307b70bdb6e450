"""Looks for a record's pattern in a text, in a process of its own.

A pattern comes from whoever wrote the record, and a malicious one would search for hours: not in
the worker itself.
"""

import asyncio
import contextlib
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE

import msgspec

SECONDS = 20.0
MOST_TEXT = 2**20
KNOWN = frozenset({r"Nodes searched\s*:\s*(\d+)"})
"""Patterns of our own, whose time grows with the text and no faster."""
SEARCH = """
import json, re, sys
pattern, text = json.load(sys.stdin)
found = None
for found in re.finditer(pattern, text): pass
print(json.dumps(None if found is None else found.groups()))
"""


class BadPattern(Exception):
    """it can't be searched for"""


Groups = tuple[str | None, ...]


async def last_match(pattern: str, text: str) -> Groups | None:
    """The groups of the last place that fits; raises BadPattern."""
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
        raise BadPattern from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
