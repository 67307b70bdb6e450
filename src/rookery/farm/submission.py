"""A new run out of a submission, ready to be handed to the fleet."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace as with_fields

from rookery.farm import submission_fields
from rookery.farm.submission_fields import KNOWN_ARCHITECTURES, sides_of
from rookery.model.engine import BUNDLED, STANDARD, STOCKFISH, Catalogue, source_address
from rookery.model.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.model.patterns import BadPattern, check, is_found
from rookery.model.plan import Plan, Scaling, Side, demands_of
from rookery.model.run import STOCKFISH_NPS, Run, create
from rookery.people.profiles import repository
from rookery.protocol.codec import refuse, require
from rookery.protocol.runs import SubmittedArgs, SubmittedSprt, SubmittedSpsa
from rookery.rules.assignment import BatchFacts, batch_for, length_ratio
from rookery.stats.numbers import StatisticsFault
from rookery.stats.sprt import Sprt
from rookery.stats.spsa import Tune, new_tune
from rookery.stats.spsa_parameters import SpsaFault
from rookery.stats.walk import pace_of

# Run ids: 24 hex digits that sort by creation and tell when it was, as object ids do.

Chance = Callable[[int], bytes]
"""That many random bytes; `secrets.token_bytes` is one."""

FRACTION = 2**24
RANDOM_BYTES = 5


def run_id(now: datetime, chance: Chance) -> str:
    """Four bytes of UNIX seconds, three of their fraction, five of chance."""
    moment = now.timestamp()
    seconds = int(moment)
    fraction = int((moment - seconds) * FRACTION)
    return f"{seconds:08x}{fraction:06x}{chance(RANDOM_BYTES).hex()}"


# What a new run finds: the engines known here, and how fast the machines seen so far are.

ORDINARY_CORES = 4


@dataclass(frozen=True, slots=True)
class KnownBook:
    """What is known of a book before it is played from; `official` ones any worker can fetch."""

    openings: int
    sri: str
    official: bool
    kept: bool = True


def unknown_speed(_engine: str) -> float:
    """Where nobody has played yet."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The medians stand for the machine that will most likely play."""

    catalogue: Catalogue = STANDARD
    speed_of: Callable[[str], float] = unknown_speed
    """The median speed at which machines have played an engine; 0 where none has."""
    median_cores: int = ORDINARY_CORES
    schemes: frozenset[str] = frozenset()
    """How this server fetches sources, for workers that can't."""
    credentials: bool = False
    """Whether this server can fetch what is closed to others."""
    mirroring: bool = False
    """Whether workers get all sources from this server."""
    book: KnownBook | None = None
    """That of the submission; None where nobody here has heard of it."""


# Which kind of run a submission asks for: a sequential test, a tune, or fixed games.

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
        length_ratio(plan.time_control, plan.threads, nps),
        max(1, demands.slots(around.median_cores)),
        plan.time_control.game_seconds(nps),
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
        return new_tune(
            asked.raw_params, games, a_ratio=ratio, alpha=asked.alpha, gamma=asked.gamma
        )
    except SpsaFault as fault:
        refuse("spsa", str(fault))


# The plan and the kind of a submission.

FETCHED_BY_WORKERS = frozenset({"http", "https"})
LONG_RATIO = 4.0
"""Games this many times as long as those of a short test make a long one."""
LONG_PREFIX = "LTC: "
LEAST_THROUGHPUT, MOST_THROUGHPUT = 1, 1000
MOST_PRIORITY = 1000


def planned(
    args: SubmittedArgs, owner: str, around: Surroundings | None = None
) -> tuple[Plan, Kind]:
    """All that the submitter chose, as the core knows it; raises WireFault."""
    around = around or Surroundings()
    tc = submission_fields.time_control("tc", args.tc)
    plan = Plan(
        sides=sides_of(args, tc, around.catalogue),
        games=games_of(args),
        tc=tc,
        owner=owner,
        book=submission_fields.book("book", args.book),
        book_depth=submission_fields.book_depth("book_depth", args.book_depth),
        book_sri=_book_sri(args, around.book),
        book_official=around.book is None or around.book.official,
        threads=args.threads,
        adjudication=args.adjudication,
        resign=args.resign or None,
        draw=args.draw or None,
        syzygy_men=args.syzygy_men or 0,
        variant=args.variant or None,
        scaling=args.scaling or "nps",
        time_margin_ms=None if args.time_margin_ms is UNSET else args.time_margin_ms,
        strict_pv=args.strict_pv is True,
        pgn_detail=args.pgn_detail or None,
        arch_filter=_arch_filter(args),
        compiler=args.compiler or "",
        priority=_priority(args),
        throughput=_throughput(args),
        auto_purge=args.auto_purge,
        master_repo=_master_repo(args),
    )
    _check_schemes(args, around)
    plan = with_fields(
        plan,
        mirrored=_is_mirrored(args, plan, around),
        scaling=_scaling(args, plan, around),
        info=_info(args, plan, around),
    )
    return plan, kind_of(args, plan, around)


def _master_repo(args: SubmittedArgs) -> str:
    """Told of only where it is not the official one."""
    if args.master_repo is UNSET:
        return ""
    found = repository("master_repo", args.master_repo)
    return "" if found == STOCKFISH.source else found


def _book_sri(args: SubmittedArgs, known: KnownBook | None) -> str:
    """The hash of a kept book is what it is; an official one may have changed since it was noted
    here."""
    given = submission_fields.book_sri("book_sri", args.book_sri)
    if known is not None and known.kept:
        require(given in ("", known.sri), "book_sri", "the book that is kept here has another hash")
    return given or (known.sri if known else "")


def _check_schemes(args: SubmittedArgs, around: Surroundings) -> None:
    """An engine's own source is as its record has it; of others' this server must be able to
    fetch what workers can't."""
    given = {"tests_repo": args.tests_repo, "new_repo": args.new_repo, "base_repo": args.base_repo}
    for field, address in given.items():
        if address:
            scheme = _scheme(source_address(address))
            good = scheme in FETCHED_BY_WORKERS | around.schemes
            require(good, field, f"this server takes no sources by {scheme}")


def _scheme(repository: str) -> str:
    return repository.partition("://")[0].lower()


def _is_mirrored(args: SubmittedArgs, plan: Plan, around: Surroundings) -> bool:
    """Whether workers get the sources from this server: because somebody wants it, or because they
    could not come by them themselves."""
    built = [side for side in plan.sides if _is_built(side, around)]
    closed = around.credentials and any(
        around.catalogue.record(side.engine).private for side in built
    )
    odd = any(_scheme(side.repository) in around.schemes - FETCHED_BY_WORKERS for side in built)
    return bool(built) and (args.mirrored is True or around.mirroring or closed or odd)


def _is_built(side: Side, around: Surroundings) -> bool:
    installed = around.catalogue.record(side.engine).needed_recipe in ("installed", BUNDLED)
    return bool(side.repository) and not (side.binary or installed)


def _scaling(args: SubmittedArgs, plan: Plan, around: Surroundings) -> Scaling:
    """An engine of unknown speed is played by the clock as it is: scaled by another engine's, a
    slow one would think for an hour where a minute is meant."""
    known = args.reference_nps is not UNSET or known_nps(plan.engine, around) > 0
    return plan.scaling if known else "off"


def _arch_filter(args: SubmittedArgs) -> str:
    pattern = args.arch_filter
    if pattern:
        try:
            check(pattern)
        except BadPattern as fault:
            refuse("arch_filter", str(fault))
        some = any(is_found(pattern, arch) for arch in KNOWN_ARCHITECTURES)
        require(some, "arch_filter", "no known architecture matches it")
    return pattern


def _throughput(args: SubmittedArgs) -> int:
    found = submission_fields.whole("throughput", args.throughput)
    good = LEAST_THROUGHPUT <= found <= MOST_THROUGHPUT
    require(good, "throughput", f"expected {LEAST_THROUGHPUT} to {MOST_THROUGHPUT}")
    return found


def _priority(args: SubmittedArgs) -> int:
    found = submission_fields.whole("priority", args.priority)
    require(
        abs(found) <= MOST_PRIORITY, "priority", f"expected -{MOST_PRIORITY} to {MOST_PRIORITY}"
    )
    return found


def _info(args: SubmittedArgs, plan: Plan, around: Surroundings) -> str:
    """The submitter's words, else those of the commit; long sequential tests say so."""
    text = args.info.strip() or submission_fields.without_bench(args.msg_new)
    ratio = length_ratio(plan.time_control, plan.threads, reference_nps(plan, around))
    long = args.sprt is not UNSET and ratio > LONG_RATIO
    return LONG_PREFIX + text if long and not text.startswith("LTC") else text


def created(
    args: SubmittedArgs,
    owner: str,
    around: Surroundings,
    *,
    now: datetime,
    chance: Chance,
) -> Run:
    """The run, unapproved and with nothing played; raises WireFault. It asks nobody outside."""
    plan, kind = planned(args, owner, around)
    run = create(
        run_id(now, chance),
        plan,
        kind,
        around.catalogue,
        now,
        median_nps=around.speed_of(plan.engine),
        rescheduled_from="" if args.rescheduled_from is UNSET else args.rescheduled_from,
    )
    return _at_own_speed(run, args, around)


def _at_own_speed(run: Run, args: SubmittedArgs, around: Surroundings) -> Run:
    """The submitter may name the reference speed of an engine that has none."""
    if args.reference_nps is UNSET:
        return run
    known = around.catalogue.record(run.plan.engine).speed.reference
    free = known is None or known == args.reference_nps
    require(free, "reference_nps", f"the engine's reference speed is {known}")
    require(args.reference_nps >= 1, "reference_nps", "expected at least 1 node per second")
    return replace(run, reference_nps=args.reference_nps)
