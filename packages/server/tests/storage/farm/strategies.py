"""Runs, tasks and actions of every shape that may have to be kept."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from msgspec import UNSET

from rookery.core.model.events import Action, Event
from rookery.core.model.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.core.model.machine import ClaimedAbilities, Machine
from rookery.core.model.plan import Draw, Plan, Resign, Side
from rookery.core.model.run import DecidedBy, Run, Status
from rookery.core.model.task import Results, Tally, Task
from rookery.core.protocol.actions import (
    NUMBER_FIELDS,
    TEXT_FIELDS,
    All,
    Among,
    Compare,
    Either,
    Order,
    Value,
)
from rookery.core.stats.sprt import EloModel, Flag, Overshoot, Sprt, SprtState, Verdict
from rookery.core.stats.spsa import Issued, ParameterSample
from tests.makers import NOW, make_run, run_id, spsa

EPOCH = datetime.fromtimestamp(0, UTC)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
filled = texts.filter(bool)
counts = st.integers(0, 2**31 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
moments = st.integers(0, 4 * 10**15).map(lambda us: EPOCH + timedelta(microseconds=us))
words = st.frozensets(texts, max_size=3)
ids = st.binary(min_size=12, max_size=12).map(bytes.hex)

positive = st.integers(1, 2**31 - 1)
times = st.sampled_from(["10+0.1", "40/60+0.6", "N=25000", "D=12", "MT=100"])
sides = st.builds(
    Side,
    tag=filled,
    commit=texts,
    message=texts,
    options=texts,
    uci=st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    nets=st.lists(texts, max_size=2).map(tuple),
    tc=st.none() | times,
    threads=st.none() | st.integers(1, 65_536),
)
plans = st.builds(
    Plan,
    sides=st.tuples(sides, sides),
    games=counts,
    tc=times,
    owner=texts,
    book=filled,
    book_depth=counts,
    book_official=st.booleans(),
    resign=st.none() | st.builds(Resign, counts, positive, st.booleans()),
    draw=st.none() | st.builds(Draw, counts, positive, counts),
    time_margin_ms=st.none() | counts,
    scaling=st.sampled_from(["nps", "off"]),
    arch_filter=texts,
    compiler=st.sampled_from(["", "g++", "clang++"]),
    mirrored=st.booleans(),
    priority=st.integers(-(2**31), 2**31),
    info=texts,
)
overshoots = st.builds(Overshoot, counts, counts, floats, floats, floats, floats, floats, floats)
sprts = st.builds(
    SprtTest,
    st.builds(
        Sprt,
        st.floats(-900, 0),
        st.floats(1, 900),
        st.sampled_from(EloModel),
        batch_size=st.integers(1, 9),
    ),
    st.builds(
        SprtState,
        floats,
        st.sampled_from(Verdict),
        st.none() | overshoots,
        counts,
        st.none() | counts,
    ),
)
samples = st.tuples(st.builds(ParameterSample, floats, floats, floats))


@st.composite
def tunes(draw: st.DrawFn) -> SpsaTuning:
    tune = spsa().tune
    thetas, history = draw(st.tuples(floats)), draw(st.lists(samples, max_size=4))
    return SpsaTuning(replace(tune, thetas=thetas, iteration=7, history=tuple(history)))


kinds: st.SearchStrategy[Kind] = st.one_of(st.just(Fixed()), sprts, tunes())
results = st.builds(Results, counts, counts, counts, counts, counts, st.tuples(*[counts] * 5))
statuses = st.builds(
    Status,
    texts,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    counts,
    st.sampled_from(Flag),
    st.sampled_from(DecidedBy),
)
tallies = st.builds(Tally, counts, counts, counts, counts, counts, results)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    return replace(
        make_run("a"),
        plan=draw(plans),
        kind=draw(kinds),
        created=draw(moments),
        updated=draw(moments),
        status=draw(statuses),
        tally=draw(tallies),
        reference_nps=draw(floats),
        rescheduled_from=draw(st.just("") | ids),
    )


machines = st.builds(
    Machine,
    uname=texts,
    architecture=st.tuples(texts, texts),
    cores=st.integers(1, 65_536),
    memory=counts,
    min_threads=st.integers(1, 65_536),
    user=texts,
    version=counts,
    python_version=st.tuples(counts, counts, counts),
    gcc_version=st.tuples(counts, counts, counts),
    compiler=texts,
    key=st.uuids().map(str),
    modified=st.booleans(),
    arch=texts,
    engine_arch=texts,
    nps=st.floats(0, 1e12),
    near_github_limit=st.booleans(),
    rookery=st.just(UNSET)
    | st.builds(
        ClaimedAbilities,
        system=texts,
        cpu_flags=st.lists(texts, max_size=3).map(tuple),
        tools=st.dictionaries(texts, texts, max_size=2),
        only=st.lists(texts, max_size=2).map(tuple),
        host=texts,
        sandbox=st.booleans(),
    ),
    address=texts,
    country=texts,
    teams=words,
    near_api_limit=st.booleans(),
    seal=texts,
)
tickets = st.none() | st.lists(
    st.builds(Issued, counts, st.binary(max_size=4), st.booleans()), max_size=3
).map(tuple)
tasks = st.builds(
    Task,
    run=st.just(make_run("a").id),
    id=st.integers(0, 3),
    start=counts,
    games=counts,
    machine=machines,
    created=moments,
    reported=moments,
    results=results,
    ticket=tickets,
    active=st.booleans(),
    bad=st.booleans(),
    too_fast=st.booleans(),
)

# The log, with few different values, so that filters find something.
names = st.sampled_from(["ann", "bob", "Änne", "zoë", "Ann"])
seconds = st.integers(0, 5)
events = st.builds(
    Event,
    action=st.sampled_from(Action),
    at=seconds.map(lambda second: NOW.replace(second=second)),
    actor=names,
    run=st.sampled_from(["", run_id("a"), run_id("b")]),
    run_name=names,
    message=st.none() | st.just("") | names,
    task=st.none() | st.integers(0, 3),
    worker=st.just("") | names,
)
_TEXTS = names | st.sampled_from([*map(str, Action), run_id("a"), "1", "2", ""])
_NUMBERS: dict[str, st.SearchStrategy[Value]] = {
    "time": seconds.map(lambda second: NOW.timestamp() + second) | st.sampled_from([1e12, -1e12]),
    "task_id": st.integers(-1, 4),
}
_VALUES: dict[str, st.SearchStrategy[Value]] = {
    name: _NUMBERS.get(name, _TEXTS) for name in NUMBER_FIELDS | TEXT_FIELDS
}


@st.composite
def comparisons(draw: st.DrawFn) -> Compare | Among:
    field = draw(st.sampled_from(sorted(_VALUES)))
    if draw(st.booleans()):
        return Compare(field, draw(st.sampled_from(Order)), draw(_VALUES[field]))
    values = draw(st.lists(_VALUES[field], min_size=1, max_size=3))
    return Among(field, tuple(values), draw(st.booleans()))


filters = st.recursive(
    comparisons(),
    lambda parts: st.lists(parts, max_size=3).flatmap(
        lambda some: st.sampled_from([All(tuple(some)), Either(tuple(some))])
    ),
    max_leaves=6,
)
