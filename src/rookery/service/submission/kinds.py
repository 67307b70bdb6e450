"""Which kind of run a submission asks for: a sequential test, a tune, or fixed games."""

from dataclasses import replace

from msgspec import UNSET

from rookery.core.demands import demands_of
from rookery.core.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.core.plan import Plan
from rookery.core.run import STOCKFISH_NPS
from rookery.core.scheduling.sizing import BatchFacts, batch_for
from rookery.core.scheduling.throughput import length_ratio
from rookery.core.spsa import SpsaFault, Tune, set_up
from rookery.core.stats.faults import StatisticsFault
from rookery.core.stats.pace import pace_of
from rookery.core.stats.sprt import Sprt
from rookery.protocol.submission import SubmittedArgs, SubmittedSprt, SubmittedSpsa
from rookery.service.submission.faults import refuse, require
from rookery.service.submission.surroundings import Surroundings

MOST_GAMES = 3_200_000
SPRT_GAMES = 800_000
MOST_BATCH_PAIRS = 100_000


def games_of(args: SubmittedArgs) -> int:
    """Any even number from 2 on; a sequential test that names none gets the usual cap."""
    if args.num_games is UNSET:
        require(args.sprt is not UNSET, "num_games", "is missing")
        return SPRT_GAMES
    good = args.num_games % 2 == 0 and 2 <= args.num_games <= MOST_GAMES
    require(good, "num_games", f"expected an even number from 2 to {MOST_GAMES}")
    return args.num_games


def kind_of(args: SubmittedArgs, plan: Plan, around: Surroundings) -> Kind:
    if args.sprt is not UNSET and args.spsa is not UNSET:
        refuse("spsa", "a run is a sequential test or a tune, not both")
    if args.sprt is not UNSET:
        return _sprt(args.sprt, plan, around)
    if args.spsa is not UNSET:
        return SpsaTuning(_tune(args.spsa, plan.games))
    return Fixed()


def _sprt(asked: SubmittedSprt, plan: Plan, around: Surroundings) -> SprtTest:
    batch = 1 if asked.batch_size is UNSET else asked.batch_size
    good = batch <= MOST_BATCH_PAIRS
    require(good, "sprt.batch_size", f"expected 1 to {MOST_BATCH_PAIRS} pairs")
    try:
        spec = Sprt(asked.elo0, asked.elo1, alpha=asked.alpha, beta=asked.beta, batch_size=batch)
    except StatisticsFault as fault:
        refuse("sprt", str(fault))
    if asked.batch_size is UNSET:
        spec = replace(spec, batch_size=_batch(spec, plan, around))
    return SprtTest(spec)


def _batch(spec: Sprt, plan: Plan, around: Surroundings) -> int:
    """By how long the test and its games should last, and by what a median machine does. The
    test is taken to be as long as where one of its bounds is the truth."""
    nps = reference_nps(plan, around)
    demands = demands_of(plan, around.catalogue)
    facts = BatchFacts(
        length_ratio(plan.tc, plan.threads, nps),
        max(1, demands.slots(around.median_cores)),
        plan.tc.game_seconds(nps),
        min(float(plan.games), pace_of(spec).walk(spec.elo0).mean_time()),
    )
    return batch_for(demands, facts)


def reference_nps(plan: Plan, around: Surroundings) -> float:
    """What times are scaled to, or lengths guessed by where nothing is scaled."""
    return known_nps(plan.engine, around) or STOCKFISH_NPS


def known_nps(engine: str, around: Surroundings) -> float:
    """The reference of its record, else the median of the machines seen so far; 0 without both."""
    return around.catalogue.record(engine).speed.reference or around.speed_of(engine)


def _tune(asked: SubmittedSpsa, games: int) -> Tune:
    pairs = games / 2
    # Half a pair more, so that a whole number comes through the division unharmed.
    ratio = asked.stability if asked.stability < 1 else (int(asked.stability) + 0.5) / pairs
    try:
        return set_up(asked.raw_params, games, a_ratio=ratio, alpha=asked.alpha, gamma=asked.gamma)
    except SpsaFault as fault:
        refuse("spsa", str(fault))
