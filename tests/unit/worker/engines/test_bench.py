"""What the texts of a bench tell."""

import asyncio

import pytest

from rookery.protocol.engine_record import BenchRecord, EngineRecord
from rookery.worker.engines import patterns
from rookery.worker.engines.bench import read_bench
from rookery.worker.engines.order import BenchFailed

USUAL = EngineRecord(name="Any")
STOCKFISH = EngineRecord(name="Fish", bench=BenchRecord(pattern=r"Nodes searched\s*:\s*(\d+)"))
STOCKFISH_TEXT = """\
===========================
Total time (ms) : 1234
Nodes searched  : 2030154
Nodes/second    : 1645181
"""


def test_nodes_and_speed_are_in_one_line() -> None:
    measured = asyncio.run(read_bench("warming up\n4294967 nodes 1234567 nps\n", USUAL, 1.0))
    assert (measured.nodes, measured.nps) == (4294967, 1234567)


def test_stockfish_names_both_in_lines_of_their_own() -> None:
    measured = asyncio.run(read_bench(STOCKFISH_TEXT, STOCKFISH, 1.0))
    assert (measured.nodes, measured.nps) == (2030154, 1645181)


def test_a_speed_that_is_not_named_is_taken_by_the_clock() -> None:
    assert asyncio.run(read_bench("Nodes searched: 1000", STOCKFISH, 0.5)).nps == 2000


@pytest.mark.parametrize("pattern", [r"(\d+) nodes (\d+) nps", "(", "no group"])
def test_a_text_without_nodes_is_no_bench(pattern: str) -> None:
    record = EngineRecord(name="Any", bench=BenchRecord(pattern=pattern))
    with pytest.raises(BenchFailed):
        asyncio.run(read_bench("no group here", record, 1.0))


def test_a_pattern_that_would_search_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.3)
    record = EngineRecord(name="Any", bench=BenchRecord(pattern=r"(a+)+b"))
    with pytest.raises(BenchFailed, match="can't be searched for"):
        asyncio.run(read_bench("a" * 100, record, 1.0))


def test_a_pattern_of_ones_own_is_searched_for() -> None:
    record = EngineRecord(name="Any", bench=BenchRecord(pattern=r"total=([\d,]+)"))
    assert asyncio.run(read_bench("total=1,000\ntotal=2,000", record, 1.0)).nodes == 2000
