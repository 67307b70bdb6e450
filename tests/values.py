"""Makes runs, tasks, machines and results for tests, of which each test states only what matters.

They are values of rookery.core; tests/makers.py adds what the farm makes of them.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import settings

from rookery.core.model.engine import STANDARD, Catalogue
from rookery.core.model.events import Action, Event, about_run
from rookery.core.model.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.core.model.machine import ClaimedAbilities, Machine
from rookery.core.model.plan import Plan, Side
from rookery.core.model.run import Run, Status, create
from rookery.core.model.task import NOTHING, Pentanomial, Results, Task
from rookery.core.stats.sprt import Sprt
from rookery.core.stats.spsa import new_tune

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUICK = settings(max_examples=40, derandomize=True, deadline=None)

ROOKERY = ClaimedAbilities(system="linux")
STC = "10+0.1"


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def run_id(name: str) -> str:
    return name.encode().hex().ljust(24, "0")[:24]


def make_side(tag: str = "idea", **fields: Any) -> Side:
    return Side(tag, **{"commit": "0" * 40} | fields)


def make_plan(engine: str = "Stockfish", **fields: Any) -> Plan:
    sides = (make_side("idea", engine=engine), make_side("master", engine=engine))
    given: dict[str, Any] = {
        "sides": sides,
        "games": 40_000,
        "tc": STC,
        "owner": "olga",
        "book": "UHO.epd",
    }
    return Plan(**given | fields)


def make_run(
    name: str = "a",
    plan: Plan | None = None,
    kind: Kind | None = None,
    *,
    approved: bool = True,
    share: float = 100.0,
    cores: int = 0,
    catalogue: Catalogue = STANDARD,
) -> Run:
    run = create(run_id(name), plan or make_plan(), kind or Fixed(), catalogue, NOW)
    tally = replace(run.tally, cores=cores, workers=int(cores > 0))
    status = Status(approver="boris" if approved else "")
    return replace(run, status=status, share=share, tally=tally)


def sprt(batch: int = 1, elo0: float = 0.0, elo1: float = 10.0) -> SprtTest:
    return SprtTest(Sprt(elo0, elo1, batch_size=batch))


def spsa(games: int = 1000, lines: str = "P1,100,0,200,10,0.002") -> SpsaTuning:
    return SpsaTuning(new_tune(lines, games))


def make_machine(name: str = "m", cores: int = 4, **fields: Any) -> Machine:
    key = f"{name.encode().hex().ljust(8, '0')[:8]}-1111-4222-8333-444444444444"
    given: dict[str, Any] = {
        "uname": "",
        "architecture": ("", ""),
        "cores": cores,
        "memory": 64_000,
        "min_threads": 1,
        "user": "wanda",
        "version": 325,
        "python_version": (3, 12, 3),
        "gcc_version": (13, 2, 0),
        "compiler": "g++",
        "key": key,
        "modified": False,
        "arch": "unknown",
        "engine_arch": "?",
        "nps": 0.0,
        "near_github_limit": False,
    }
    return Machine(**given | fields)


def make_task(run: Run, machine: Machine) -> Task:
    """A task of 32 games that the machine has just been given."""
    return Task(run.id, 0, 0, 32, machine, NOW, NOW)


def broken(run: Run) -> Event:
    """The event of a worker that found a run to be broken."""
    return about_run(Action.STOP_RUN, run, "wanda", NOW, "wrong bench")


def restarted(machine: Machine) -> Machine:
    """The same machine with a new worker process."""
    return msgspec.structs.replace(machine, key=machine.key[:8] + "-9999-4222-8333-444444444444")


def pairs(
    ll: int = 0, ld: int = 0, even: int = 0, wd: int = 0, ww: int = 0, **more: int
) -> Results:
    """Results of whole pairs; even ones are two draws."""
    return counts(
        wins=2 * ww + wd,
        losses=2 * ll + ld,
        draws=ld + 2 * even + wd,
        pentanomial=(ll, ld, even, wd, ww),
        **more,
    )


def counts(**found: int | Pentanomial) -> Results:
    """Results whose games and pairs need not agree; counts that are not given are zero."""
    return msgspec.structs.replace(NOTHING, **found)
