"""The index finds what the plain pass over all runs finds, whatever happened before."""

import random
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace as with_fields

from rookery.core.model.machine import ClaimedAbilities, Machine
from rookery.core.model.run import Run
from rookery.server.farm.rules import eligibility
from rookery.server.farm.rules.eligibility import Past
from rookery.server.farm.rules.run_index import SPARE, RunIndex
from tests.makers import QUICK, make_machine, make_plan, make_run, sprt, spsa

NAMES = [f"r{number}" for number in range(9)]
SHARES = {"Tiny": 2.0, "Stockfish": 1.0}

plans = st.builds(
    make_plan,
    threads=st.sampled_from((1, 1, 2, 8)),
    priority=st.sampled_from((0, 0, 0, 1, -1)),
    engine=st.sampled_from(("Stockfish", "Stockfish", "Tiny")),
    tc=st.sampled_from(("10+0.1", "N=5000")),
    arch_filter=st.sampled_from(("", "", "avx2")),
    compiler=st.sampled_from(("", "", "clang++")),
    mirrored=st.booleans(),
)
runs = st.builds(
    make_run,
    name=st.sampled_from(NAMES),
    plan=plans,
    kind=st.sampled_from((sprt(), sprt(batch=4), spsa())),
    share=st.sampled_from((1.0, 10.0, 50.0, 97.3, 100.0)),
    cores=st.sampled_from((0, 0, 1, 2, 4, 16, 300_000)),
    approved=st.sampled_from((True, True, True, False)),
)
ids = st.sampled_from([make_run(name).id for name in NAMES])
some_ids = st.frozensets(ids, max_size=4)
machines = st.builds(
    make_machine,
    cores=st.sampled_from((1, 2, 4, 8, 64)),
    memory=st.sampled_from((900, 4000, 64_000)),
    arch=st.sampled_from(("x86-64-avx2", "armv8")),
    compiler=st.sampled_from(("g++", "clang++")),
    min_threads=st.sampled_from((1, 1, 2)),
    near_api_limit=st.booleans(),
    rookery=st.just(UNSET)
    | st.builds(
        ClaimedAbilities,
        system=st.just("linux"),
        only=st.sampled_from(((), (), ("Tiny",))),
        focus=st.sampled_from(((), (), ("Tiny",))),
    ),
)
pasts = st.builds(Past, seen=some_ids, last=ids, failed=st.frozensets(ids, max_size=2))


@dataclass(frozen=True)
class Put:
    run: Run


@dataclass(frozen=True)
class Remove:
    run_id: str


@dataclass(frozen=True)
class Load:
    """A run gains or loses cores or games, or its share changes."""

    run_id: str
    cores: int
    share: float
    committed: int


@dataclass(frozen=True)
class Ask:
    machine: Machine
    past: Past


steps = st.one_of(
    st.builds(Put, runs),
    st.builds(Remove, ids),
    st.builds(
        Load,
        ids,
        st.integers(0, 40),
        st.sampled_from((1.0, 10.0, 97.3, 120.0)),
        st.sampled_from((0, 0, 0, 40_000)),
    ),
    st.builds(Ask, machines, pasts),
    st.builds(Ask, machines, pasts),
)


class Pair:
    """The index beside a plain dictionary of runs."""

    def __init__(self) -> None:
        self.index = RunIndex(SHARES)
        self.runs: dict[str, Run] = {}

    def take(self, step: Put | Remove | Load | Ask) -> None:
        match step:
            case Put(run):
                # The demands of a run never change under it: it must go before it comes anew.
                self.index.remove(run.id)
                self.put(run)
            case Remove(run_id):
                self.index.remove(run_id)
                self.runs.pop(run_id, None)
            case Load(run_id, cores, share, committed):
                if found := self.runs.get(run_id):
                    tally = replace(found.tally, cores=cores, committed=committed)
                    self.put(replace(found, tally=tally, share=share))
            case Ask(machine, past):
                self.compare(machine, past)

    def put(self, run: Run) -> None:
        self.index.put(run)
        self.runs[run.id] = run

    def compare(self, machine: Machine, past: Past) -> None:
        everyone = self.runs.values()
        loads = eligibility.engine_loads(everyone, SHARES)
        expected = eligibility.choose(everyone, machine, past, loads)
        assert self.index.choose(machine, past) == (expected.id if expected else None)
        assert self.index.reasons(machine, past) == eligibility.reasons(everyone, machine, past)


@QUICK
@given(st.lists(runs, max_size=9), st.lists(steps, max_size=40), machines, pasts)
def test_choice_and_reasons_equal_those_of_a_plain_sort(
    before: list[Run], history: list[Put | Remove | Load | Ask], machine: Machine, past: Past
) -> None:
    pair = Pair()
    for run in before:
        pair.take(Put(run))
    pair.compare(machine, past)
    for step in history:
        pair.take(step)
    pair.compare(machine, past)


@QUICK
@given(st.lists(runs, max_size=9), machines, pasts)
def test_an_official_worker_is_never_given_a_run_it_cannot_play(
    given_runs: list[Run], machine: Machine, past: Past
) -> None:
    pair = Pair()
    for run in given_runs:
        pair.put(run) if run.id not in pair.runs else None
    chosen = pair.index.choose(with_fields(machine, rookery=UNSET), past)
    if chosen is not None:
        assert [str(need) for need in pair.runs[chosen].demands.needs] == ["stockfish_build"]


def test_a_long_history_of_tasks_beginning_and_ending_is_followed() -> None:
    chance, pair = random.Random(7), Pair()
    for name in NAMES:
        pair.put(make_run(name, make_plan(threads=chance.choice((1, 2)))))
    for _ in range(1500):
        run_id = chance.choice(sorted(pair.runs))
        cores, share = chance.randrange(30), chance.choice((10.0, 97.3, 120.0))
        pair.take(Load(run_id, cores, share, chance.choice((0, 0, 0, 40_000))))
        machine = make_machine(cores=chance.choice((1, 2, 8)))
        pair.compare(machine, Past(last=chance.choice(sorted(pair.runs))))


def test_a_changed_priority_moves_a_run() -> None:
    pair = Pair()
    one, two = make_run("a"), make_run("b")
    for run in (one, two):
        pair.put(run)
    assert pair.index.choose(make_machine()) == one.id
    pair.put(replace(two, plan=with_fields(two.plan, priority=1)))
    assert pair.index.choose(make_machine()) == two.id


def test_heaps_do_not_grow_with_the_number_of_changes() -> None:
    pair, machine = Pair(), make_machine()
    for name in NAMES:
        pair.put(make_run(name))
    for turn in range(3000):
        run = pair.runs[make_run(NAMES[turn % 9]).id]
        tally = replace(run.tally, cores=(turn * 7) % 40)
        pair.put(replace(run, tally=tally))
        pair.index.choose(machine)
    (group,) = pair.index._groups.values()
    assert len(group.heap_for(machine.cores).heap) <= SPARE + 2 * len(NAMES)


def test_an_empty_index_has_nothing_and_no_reasons() -> None:
    index = RunIndex()
    assert index.choose(make_machine()) is None
    assert index.reasons(make_machine()) == {}
    index.remove("unknown")


def test_shelves_of_runs_that_are_gone_are_dropped() -> None:
    index = RunIndex()
    for number in range(20):
        run = make_run(f"p{number}", make_plan(priority=number))
        index.put(run)
        index.remove(run.id)
    assert len(index._groups) == 1
