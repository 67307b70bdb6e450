"""What the texts of a bench tell."""

import pytest

from rookery.protocol.engine_record import BenchRecord, EngineRecord
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
    measured = read_bench("warming up\n4294967 nodes 1234567 nps\n", USUAL, 1.0)
    assert (measured.nodes, measured.nps) == (4294967, 1234567)


def test_stockfish_names_both_in_lines_of_their_own() -> None:
    measured = read_bench(STOCKFISH_TEXT, STOCKFISH, 1.0)
    assert (measured.nodes, measured.nps) == (2030154, 1645181)


def test_a_speed_that_is_not_named_is_taken_by_the_clock() -> None:
    assert read_bench("Nodes searched: 1000", STOCKFISH, 0.5).nps == 2000


@pytest.mark.parametrize("pattern", [r"(\d+) nodes (\d+) nps", "(", "no group"])
def test_a_text_without_nodes_is_no_bench(pattern: str) -> None:
    record = EngineRecord(name="Any", bench=BenchRecord(pattern=pattern))
    with pytest.raises(BenchFailed):
        read_bench("no group here", record, 1.0)
