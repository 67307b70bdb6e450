"""Turns a submission into a new run, ready for the fleet."""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace as with_changes
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from rookery.core.model.engine import BUNDLED, STANDARD, STOCKFISH, Catalogue, source_address
from rookery.core.model.kinds import Kind
from rookery.core.model.plan import Plan, Scaling, Side, demands_of
from rookery.core.model.run import STOCKFISH_NPS, Run, create
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.codec import refuse, require
from rookery.core.protocol.kinds import SETTINGS
from rookery.core.protocol.runs import PREFIXES, Submission
from rookery.core.repositories import parse_repository
from rookery.core.stats.sprt import Sprt
from rookery.core.stats.walk import pace_of
from rookery.server.farm import submission_fields
from rookery.server.farm.rules.assignment import LONG_RATIO, BatchFacts, batch_size, length_ratio
from rookery.server.farm.rules.lifecycle import MOST_GAMES
from rookery.server.farm.rules.patterns import BadPattern, check, is_found
from rookery.server.farm.submission_fields import KNOWN_ARCHITECTURES, add_commit, check_side

# Run ids: 24 hex digits that sort by time of creation and contain it, like MongoDB's object ids.

Chance = Callable[[int], bytes]
"""Gives that many random bytes, like `secrets.token_bytes`."""

FRACTION = 2**24
RANDOM_BYTES = 5


def run_id(now: datetime, chance: Chance) -> str:
    """Return a new run id: four bytes of UNIX seconds, three of their fraction, five random
    ones."""
    moment = now.timestamp()
    seconds = int(moment)
    fraction = int((moment - seconds) * FRACTION)
    return f"{seconds:08x}{fraction:06x}{chance(RANDOM_BYTES).hex()}"


# The context of a submission: the known engines, and the speeds of the machines seen so far.

ORDINARY_CORES = 4


@dataclass(frozen=True, slots=True)
class KnownBook:
    """The facts about an opening book that a submission needs; any worker can fetch `official`
    ones."""

    openings: int
    sri: str
    official: bool
    kept: bool = True


def unknown_speed(_engine: str) -> float:
    """Return the speed of an engine that nobody has played yet."""
    return 0.0


@dataclass(frozen=True, slots=True)
class SubmissionContext:
    """What a submission is checked against: engines, speeds, the server's settings and the book.

    The medians describe a typical machine."""

    catalogue: Catalogue = STANDARD
    speed_of: Callable[[str], float] = unknown_speed
    """The median speed of machines that played an engine; 0 if there are none."""
    median_cores: int = ORDINARY_CORES
    schemes: frozenset[str] = frozenset()
    """URL schemes by which this server can fetch sources for workers that can't."""
    credentials: bool = False
    """Whether this server has credentials for closed repositories."""
    mirroring: bool = False
    """Whether workers get all sources from this server."""
    book: KnownBook | None = None
    """The submission's book; None if it is unknown here."""


# How many games a submission asks for, and in what steps they are reported.


def _games(asked: Submission, checks: Checks) -> int:
    """Return the number of games, an even one; a sequential test without a number gets the usual
    maximum."""
    games = asked.plan.games
    if games or not checks.are_right("num_games"):
        good = games % 2 == 0 and 2 <= games <= MOST_GAMES
        checks.require(good, "num_games", f"expected an even number from 2 to {MOST_GAMES}")
        return games
    if checks.are_right(*SETTINGS):
        checks.require(bool(asked.kind.usual_games), "num_games", "is missing")
    return asked.kind.usual_games


def _batch(spec: Sprt, plan: Plan, context: SubmissionContext) -> int:
    """Return a batch size that fits the expected lengths of the test and its games, and a median
    machine. The test's length is the one expected when the true Elo is one of its bounds."""
    nps = reference_nps(plan, context)
    demands = demands_of(plan, context.catalogue)
    facts = BatchFacts(
        length_ratio(plan.time_control, plan.threads, nps),
        max(1, demands.slots(context.median_cores)),
        plan.time_control.game_seconds(nps),
        min(float(plan.games), pace_of(spec).walk(spec.elo0).mean_time()),
    )
    return batch_size(demands, facts)


def reference_nps(plan: Plan, context: SubmissionContext) -> float:
    """Return the speed that times are scaled to, or by which lengths are estimated without
    scaling."""
    return known_nps(plan.engine, context) or STOCKFISH_NPS


def known_nps(engine: str, context: SubmissionContext) -> float:
    """Return the reference speed of an engine's record, else the median of the machines seen so
    far; 0 without both."""
    return context.catalogue.record(engine).speed.reference or context.speed_of(engine)


# The plan and the kind of a submission.

FETCHED_BY_WORKERS = frozenset({"http", "https"})
LONG_PREFIX = "LTC: "
LEAST_THROUGHPUT, MOST_THROUGHPUT = 1, 1000
MOST_PRIORITY = 1000


def plan_submission(
    asked: Submission, owner: str, context: SubmissionContext, checks: Checks
) -> tuple[Plan, Kind]:
    """Return the plan and the kind of a submission, with everything checked in one pass. They are
    good only if the checks have found nothing. `add_commits` adds commits that have to be looked
    up."""
    given, field = asked.plan, checks.field
    tc = field(submission_fields.time_control, "tc", given.tc)
    known = context.catalogue
    plan = replace(
        given,
        sides=tuple(check_side(asked, prefix, tc, known, checks) for prefix in PREFIXES),
        games=_games(asked, checks),
        tc=tc,
        owner=owner,
        book=field(submission_fields.book, "book", given.book),
        book_depth=field(submission_fields.book_depth, "book_depth", given.book_depth),
        book_sri=field(partial(_book_sri, known=context.book), "book_sri", given.book_sri),
        book_official=context.book is None or context.book.official,
        arch_filter=field(_arch_filter, "arch_filter", given.arch_filter),
        priority=field(_priority, "priority", given.priority),
        throughput=field(_throughput, "throughput", given.throughput),
        master_repo=field(_master_repo, "master_repo", given.master_repo),
    )
    _check_schemes(given, context, checks)
    _check_speed(asked, plan, context, checks)
    kind = asked.kind.make(plan, lambda spec: _batch(spec, plan, context), checks)
    return plan if checks.faults else _with_defaults(plan, asked, context), kind


def add_commits(plan: Plan, asked: Submission, context: SubmissionContext, checks: Checks) -> Plan:
    """Return the plan with the commits of the submission, which by now must have them."""
    sides = zip(PREFIXES, plan.sides, strict=True)
    plan = replace(
        plan, sides=tuple(add_commit(side, asked, prefix, checks) for prefix, side in sides)
    )
    return replace(plan, info=_info(asked, plan, context))


def _with_defaults(plan: Plan, asked: Submission, context: SubmissionContext) -> Plan:
    plan = replace(plan, mirrored=_is_mirrored(plan, context))
    plan = replace(plan, scaling=_scaling(asked, plan, context))
    return replace(plan, info=_info(asked, plan, context))


def _master_repo(field: str, given: str) -> str:
    """Return the main repository of the submission; empty if it is the official one."""
    if not given:
        return ""
    found = parse_repository(field, given)
    return "" if found == STOCKFISH.source else found


def _book_sri(field: str, given: str, known: KnownBook | None) -> str:
    """Return the book's hash. For a book stored here the given hash must match; an official book
    may have changed since it was noted."""
    sri = submission_fields.book_sri(field, given)
    if known is not None and known.kept:
        require(sri in ("", known.sri), field, "the book that is kept here has another hash")
    return sri or (known.sri if known else "")


def _check_schemes(given: Plan, context: SubmissionContext, checks: Checks) -> None:
    """Check that this server or the workers can fetch the repositories that the submission names;
    sources in engine records are not checked."""
    for prefix, side in zip(PREFIXES, given.sides, strict=True):
        key = submission_fields.repository_key(given, prefix)
        if side.repository and checks.are_right(key):
            scheme = _scheme(source_address(side.repository))
            good = scheme in FETCHED_BY_WORKERS | context.schemes
            checks.require(good, key, f"this server takes no sources by {scheme}")


def _check_speed(asked: Submission, plan: Plan, context: SubmissionContext, checks: Checks) -> None:
    """Check the submitter's reference speed, allowed only for an engine that has none."""
    nps = asked.reference_nps
    if nps is not None and checks.are_right("new_engine"):
        known = context.catalogue.record(plan.engine).speed.reference
        free = known is None or known == nps
        checks.require(free, "reference_nps", f"the engine's reference speed is {known}")
        checks.require(nps >= 1, "reference_nps", "expected at least 1 node per second")


def _scheme(repository: str) -> str:
    return repository.partition("://")[0].lower()


def _is_mirrored(plan: Plan, context: SubmissionContext) -> bool:
    """Whether workers get the sources from this server: because it is configured or asked for, or
    because workers could not fetch them."""
    built = [side for side in plan.sides if _is_built(side, context)]
    closed = context.credentials and any(
        context.catalogue.record(side.engine).private for side in built
    )
    odd = any(_scheme(side.repository) in context.schemes - FETCHED_BY_WORKERS for side in built)
    return bool(built) and (plan.mirrored or context.mirroring or closed or odd)


def _is_built(side: Side, context: SubmissionContext) -> bool:
    installed = context.catalogue.record(side.engine).needed_recipe in ("installed", BUNDLED)
    return bool(side.repository) and not (side.binary or installed)


def _scaling(asked: Submission, plan: Plan, context: SubmissionContext) -> Scaling:
    """How times are scaled. An engine of unknown speed is played without scaling: scaled by another
    engine's speed, a slow engine would think for an hour instead of a minute."""
    known = asked.reference_nps is not None or known_nps(plan.engine, context) > 0
    return plan.scaling if known else "off"


def _arch_filter(field: str, pattern: str) -> str:
    if pattern:
        try:
            check(pattern)
        except BadPattern as fault:
            refuse(field, str(fault))
        some = any(is_found(pattern, arch) for arch in KNOWN_ARCHITECTURES)
        require(some, field, "no known architecture matches it")
    return pattern


def _throughput(field: str, given: float) -> int:
    found = submission_fields.whole(field, given)
    good = LEAST_THROUGHPUT <= found <= MOST_THROUGHPUT
    require(good, field, f"expected {LEAST_THROUGHPUT} to {MOST_THROUGHPUT}")
    return found


def _priority(field: str, given: float) -> int:
    found = submission_fields.whole(field, given)
    require(abs(found) <= MOST_PRIORITY, field, f"expected -{MOST_PRIORITY} to {MOST_PRIORITY}")
    return found


def _info(asked: Submission, plan: Plan, context: SubmissionContext) -> str:
    """Return the submitter's info, else the commit's message; long sequential tests are marked."""
    text = asked.plan.info.strip() or submission_fields.without_bench(asked.side("new").message)
    ratio = length_ratio(plan.time_control, plan.threads, reference_nps(plan, context))
    long = asked.kind.is_marked_long and ratio > LONG_RATIO
    return LONG_PREFIX + text if long and not text.startswith("LTC") else text


def make_run(
    asked: Submission,
    plan: Plan,
    kind: Kind,
    context: SubmissionContext,
    *,
    now: datetime,
    chance: Chance,
) -> Run:
    """Return the new run, unapproved and without results."""
    run = create(
        run_id(now, chance),
        plan,
        kind,
        context.catalogue,
        now,
        median_nps=context.speed_of(plan.engine),
    )
    nps = run.reference_nps if asked.reference_nps is None else asked.reference_nps
    return with_changes(run, rescheduled_from=asked.rescheduled_from, reference_nps=nps)
