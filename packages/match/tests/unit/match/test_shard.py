"""What matches and shards say to one another."""

import pytest

from rookery.core.model.plan import Resign
from rookery.match.clock import Latency
from rookery.match.job import (
    Adjudication,
    EngineSpec,
    Event,
    GameEnded,
    GameStarted,
    LatencyMeasured,
    PairEnded,
    PairJob,
    Setup,
)
from rookery.match.openings import Opening
from rookery.match.shard import ShardOrder, read_question, read_report, to_line
from tests.unit.match.games import pair


@pytest.mark.parametrize("tc", ["40/60+0.6", "10+0.1", "N=1000", "D=7", "MT=100"])
def test_a_job_arrives_as_it_was_sent(tc: str) -> None:
    spec = EngineSpec("a b", ("./a", "-x"), (("Hash", "1"),), tc, 2, "/tmp", (("A", "b"),))
    job = PairJob(7, Opening("8/8/8/8/8/8/8/8 w - - 0 1", ("e2e4",)), spec, spec)
    assert read_question(to_line(job)) == job


def test_an_order_arrives_as_it_was_sent() -> None:
    order = ShardOrder(
        Setup(Adjudication(Resign(1, 2)), chess960=True, syzygy=("/tb",)), 16, (0, 3)
    )
    assert read_question(to_line(order)) == order


def test_events_arrive_as_they_happened() -> None:
    latency = Latency.fresh()
    latency.add_turnaround(0.001)
    ended = pair("1-0", "1/2-1/2", number=3)
    events: list[Event] = [
        GameStarted(3, 0, "new", "base"),
        GameEnded(3, 0, ended.games[0]),
        GameEnded(3, 1, ended.games[1]),
        PairEnded(ended),
        LatencyMeasured(latency),
    ]
    assert [read_report(to_line(event)) for event in events] == events
