"""How fast engines are played, as machines tell it."""

from datetime import datetime

import pytest

from rookery.core.model.machine import Machine
from rookery.server.farm.statistics import SpeedKeeping, Speeds
from rookery.server.farm.statistics_rows import ToldSpeeds
from tests.fakes import HandClock
from tests.makers import ROOKERY, make_machine, make_plan, make_side
from tests.twins.records import MemorySpeeds

TINY = make_plan(engine="Tiny")


def ours(name: str, nps: float) -> Machine:
    return make_machine(name, nps=nps, rookery=ROOKERY)


def test_the_median_of_what_each_machine_told_last() -> None:
    speeds = Speeds()
    for name, nps in (("a", 1.0), ("a", 9_000.0), ("b", 10_000.0), ("c", 30_000.0)):
        speeds.note(TINY, ours(name, nps))
    assert speeds.median("Tiny") == 10_000
    assert speeds.median("Other") == 0


def test_what_says_nothing_about_the_engine_is_passed_over() -> None:
    speeds = Speeds()
    speeds.note(TINY, make_machine("a", nps=5.0))
    speeds.note(TINY, ours("a", 0.0))
    sides = (make_side("a", engine="Tiny"), make_side("b", engine="Stockfish"))
    speeds.note(make_plan(sides=sides), ours("a", 5.0))
    speeds.note(make_plan(engine="uploaded"), ours("a", 5.0))
    assert speeds.median("Tiny") == speeds.median("uploaded") == 0


def test_what_was_told_since_is_saved_once() -> None:
    speeds = Speeds()
    speeds.note(TINY, ours("a", 5.0))
    speeds.note(TINY, ours("b", 7.0))
    (told,) = speeds.unsaved()
    assert (told.engine, [nps for _, nps in told.machines]) == ("Tiny", [5.0, 7.0])
    assert speeds.unsaved() == ()


@pytest.mark.anyio
async def test_a_restart_forgets_no_speeds() -> None:
    rows, clock = MemorySpeeds(), HandClock()
    first, second = Speeds(), Speeds()
    first.note(TINY, ours("a", 5.0))
    await SpeedKeeping(first, rows, clock, lambda: True)()
    await SpeedKeeping(second, rows, clock, lambda: True).load()
    assert second.median("Tiny") == 5.0
    assert second.unsaved() == ()


@pytest.mark.anyio
async def test_who_is_not_primary_reads_what_the_primary_wrote() -> None:
    rows, clock = MemorySpeeds(), HandClock()
    standby = Speeds()
    follow = SpeedKeeping(standby, rows, clock, lambda: False)
    for nps in (5.0, 9.0):
        await rows.save(ToldSpeeds("Tiny", (("a", nps),)), clock.now())
        await follow()
        assert standby.median("Tiny") == nps


def test_what_is_told_now_counts_more_than_what_was_written() -> None:
    speeds = Speeds()
    speeds.note(TINY, ours("a", 9.0))
    speeds.learn([ToldSpeeds("Tiny", (("a", 5.0),)), ToldSpeeds("Other", (("a", 3.0),))])
    assert (speeds.median("Tiny"), speeds.median("Other")) == (9.0, 3.0)


class Away(MemorySpeeds):
    """A database that is away for a while."""

    away = True

    async def save(self, told: ToldSpeeds, now: datetime) -> None:
        if self.away:
            raise ConnectionError
        await super().save(told, now)


@pytest.mark.anyio
async def test_what_could_not_be_saved_is_saved_the_next_time() -> None:
    rows, speeds = Away(), Speeds()
    speeds.note(TINY, ours("a", 5.0))
    keep = SpeedKeeping(speeds, rows, HandClock(), lambda: True)
    with pytest.raises(ConnectionError):
        await keep()
    rows.away = False
    await keep()
    assert [each.engine for each in await rows.list_all()] == ["Tiny"]
