"""What a worker complains about, without the words that differ from host to host."""

import re

# The file's name holds the compiler and the processor; the commit and the two counts are the point.
_WRONG_BENCH = re.compile(
    r"Wrong bench in stockfish-([0-9a-f]{7,40})\S*, user expected: (\d+) but worker got: (\d+)"
)


def complaint_in(message: str, bench: int = 0) -> str:
    """Equal where two hosts found the same; `bench` is the count that a worker of ours names."""
    if found := _WRONG_BENCH.search(message):
        return f"wrong bench of {found[1]}: {found[3]}, not {found[2]}"
    return f"wrong bench: {bench}" if bench else message
