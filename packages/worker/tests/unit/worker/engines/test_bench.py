"""What the texts of a bench tell."""

import asyncio

import pytest

from rookery.core.model.engine import BenchRecord, EngineRecord
from rookery.worker.engines import bench
from rookery.worker.engines.bench import read_bench
from rookery.worker.engines.orders import BenchFailed

USUAL = EngineRecord(name="Any")
STOCKFISH = EngineRecord(name="Fish", bench=BenchRecord(pattern=r"Nodes searched\s*:\s*(\d+)"))
STOCKFISH_TEXT = """\
===========================
Total time (ms) : 1234
Nodes searched  : 2030154
Nodes/second    : 1645181
"""
# As these programs print it, with the lines of their searches before.
ETHEREAL_TEXT = """\
info depth 1 seldepth 1 multipv 1 score cp 36 nodes 72658 nps 72658000 tbhits 0 pv e2e4
bestmove e2e4
[# 49]   121 cp  Best:  g3g4  Ponder:  f5g4        48904 nodes      1956160 nps
[# 50]   230 cp  Best:  a2b1  Ponder:  c5c3        72658 nodes      2201757 nps
===============================================================================
OVERALL:                                         2946917 nodes      1180000 nps
"""
AKIMBO_TEXT = """\
info depth 6 score cp 30 time 8 nodes 85471 nps 1010000 pv f1f8
bestmove f1f8
Bench: 5365624 nodes 1779643 nps
"""


@pytest.mark.parametrize(
    ("text", "nodes", "speed"),
    [
        (ETHEREAL_TEXT, 2946917, 1180000),
        (AKIMBO_TEXT, 5365624, 1779643),
        (STOCKFISH_TEXT, 2030154, 1645181),
        ("Nodes: 1,234,567 NPS: 2.345.678", 1234567, 2345678),
        ("nodes 17 nps 5", 17, 5),
        ("time 3 ms, nodes = 17, 5 nodes/sec", 17, 5),
        ("Nodes: 17 NPS 5", 17, 5),
        ("17 nodes\n5 nps", 17, 5),
        ("info string bench: 17 nodes 5 nps", 17, 5),
        ("17\tnodes\t 5\tnps", 17, 5),
    ],
)
def test_the_usual_forms_of_a_bench_are_read_without_a_pattern(
    text: str, nodes: int, speed: int
) -> None:
    measured = asyncio.run(read_bench(text, USUAL, 1.0))
    assert (measured.nodes, measured.nps) == (nodes, speed)


def test_a_pattern_does_not_see_the_lines_of_a_search() -> None:
    record = EngineRecord(name="Any", bench=BenchRecord(pattern=r"(\d+)\s+nodes\s+(\d+)\s+nps"))
    text = "OVERALL: 99 nodes 5 nps\ninfo depth 1 score cp 36 nodes 72658 nps 7\n"
    assert asyncio.run(read_bench(text, record, 1.0)).nodes == 99


def test_nodes_and_speed_are_in_one_line() -> None:
    measured = asyncio.run(read_bench("warming up\n4294967 nodes 1234567 nps\n", USUAL, 1.0))
    assert (measured.nodes, measured.nps) == (4294967, 1234567)


def test_stockfish_names_both_in_lines_of_their_own() -> None:
    measured = asyncio.run(read_bench(STOCKFISH_TEXT, STOCKFISH, 1.0))
    assert (measured.nodes, measured.nps) == (2030154, 1645181)


def test_a_speed_that_is_not_named_is_taken_by_the_clock() -> None:
    assert asyncio.run(read_bench("Nodes searched: 1000", STOCKFISH, 0.5)).nps == 2000


@pytest.mark.parametrize("pattern", ["", r"(\d+) nodes (\d+) nps", "(", "no group"])
def test_a_text_without_nodes_is_no_bench(pattern: str) -> None:
    record = EngineRecord(name="Any", bench=BenchRecord(pattern=pattern))
    with pytest.raises(BenchFailed):
        asyncio.run(read_bench("no group here", record, 1.0))


def test_a_pattern_that_would_search_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SECONDS", 0.3)
    record = EngineRecord(name="Any", bench=BenchRecord(pattern=r"(a+)+b"))
    with pytest.raises(BenchFailed, match="can't be searched for"):
        asyncio.run(read_bench("a" * 100, record, 1.0))


def test_a_pattern_of_ones_own_is_searched_for() -> None:
    record = EngineRecord(name="Any", bench=BenchRecord(pattern=r"total=([\d,]+)"))
    assert asyncio.run(read_bench("total=1,000\ntotal=2,000", record, 1.0)).nodes == 2000
