"""Which runs a machine is given because of the flags of its worker."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from rookery.core.model.machine import Machine
from rookery.core.model.plan import Plan
from rookery.server.farm.rules.eligibility import Filter, choose, objection
from rookery.server.worker_api.incoming import machine_of
from rookery.worker.commands.start import make_identity
from tests.makers import make_plan, make_run
from tests.unit.worker.commands.test_worker import settings
from tests.unit.worker_api.test_incoming import CALLER
from tests.workers.fake_system import FakeSystem
from tests.workers.in_process import FACTS


def machine(folder: Path, *words: str) -> Machine:
    """Return the machine that the server sees, which has 8 cores and a sandbox."""
    empty = folder / "worker.toml"
    empty.touch()
    given = settings(f"--cache={folder}", *words, file=empty)
    identity = make_identity(given, FakeSystem(), "olga", 0, lambda _: FACTS)
    identity.is_rookery = identity.sandbox = True
    return machine_of(identity.info, CALLER)


def why_not(plan: Plan, asking: Machine) -> Filter | None:
    found = objection(make_run(plan=plan), asking)
    return found.filter if found else None


@pytest.mark.parametrize(
    ("words", "plan", "filtered"),
    [
        (["--concurrency=4"], make_plan(threads=5), Filter.THREADS),
        (["--memory=1000"], make_plan(), Filter.MEMORY),
        (["--min-threads=2"], make_plan(), Filter.MIN_THREADS),
        (["--only=Tiny", "--only=Fledgling"], make_plan(), Filter.NOT_WANTED),
        (["--noisy"], make_plan(), Filter.NOISY),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_a_worker_is_given_no_run_that_its_owner_does_not_want(
    words: list[str], plan: Plan, filtered: Filter, tmp_path: Path
) -> None:
    assert why_not(plan, machine(tmp_path)) is None
    assert why_not(plan, machine(tmp_path, *words)) is filtered


def test_a_worker_that_plays_some_engines_alone_is_given_runs_of_each(tmp_path: Path) -> None:
    asking = machine(tmp_path, "--only=Stockfish", "--only=Fledgling")
    assert why_not(make_plan(), asking) is None


def test_the_engine_that_is_to_be_played_first_goes_before_a_higher_priority(
    tmp_path: Path,
) -> None:
    high, wanted = make_run("a", make_plan(priority=9)), make_run("b", make_plan(engine="Tiny"))
    assert choose([high, wanted], machine(tmp_path)) == high
    assert choose([high, wanted], machine(tmp_path, "--focus=Tiny")) == wanted


@pytest.mark.parametrize(
    ("words", "filtered"),
    [
        (["--syzygy=/tb", "--syzygy-men=5"], None),
        (["--syzygy=/tb", "--syzygy-men=4"], Filter.NEED),
        (["--syzygy-men=5"], Filter.NEED),
        (["--syzygy=/tb"], Filter.NEED),
    ],
)
def test_a_run_with_tablebases_goes_to_workers_that_have_them(
    words: list[str], filtered: Filter | None, tmp_path: Path
) -> None:
    assert why_not(replace(make_plan(), syzygy_men=5), machine(tmp_path, *words)) is filtered


def test_a_worker_goes_by_the_name_that_it_is_given(tmp_path: Path) -> None:
    assert machine(tmp_path, "--key=cellar").short_name.endswith("-cellar")
