"""The plan and the kind of a submission."""

from dataclasses import replace

from msgspec import UNSET, UnsetType

from rookery.core.engine import STOCKFISH, source_address
from rookery.core.kinds import Kind
from rookery.core.machine import BUNDLED
from rookery.core.patterns import BadPattern, check, is_found
from rookery.core.plan import Book, Draw, Plan, Resign, Rules, Side, Wishes
from rookery.core.scheduling.throughput import length_ratio
from rookery.protocol.run_args import DrawRule, ResignRule
from rookery.protocol.submission import SubmittedArgs
from rookery.service.submission import words
from rookery.service.submission.architectures import KNOWN_ARCHITECTURES
from rookery.service.submission.faults import refuse, require
from rookery.service.submission.kinds import games_of, kind_of, known_nps, reference_nps
from rookery.service.submission.sides import sides_of
from rookery.service.submission.surroundings import KnownBook, Surroundings

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
    tc = words.time_control("tc", args.tc)
    plan = Plan(
        sides=sides_of(args, tc, around.catalogue),
        games=games_of(args),
        tc=tc,
        owner=owner,
        book=_book(args, around.book),
        threads=args.threads,
        rules=_rules(args),
        wishes=_wishes(args),
        priority=_priority(args),
        throughput=_throughput(args),
        auto_purge=args.auto_purge,
        master_repo=_master_repo(args),
    )
    _check_schemes(args, around)
    wishes = replace(plan.wishes, mirrored=_is_mirrored(args, plan, around))
    plan = replace(plan, wishes=wishes, rules=_scaled(args, plan, around))
    return replace(plan, info=_info(args, plan, around)), kind_of(args, plan, around)


def _master_repo(args: SubmittedArgs) -> str:
    """Told of only where it is not the official one."""
    if args.master_repo is UNSET:
        return ""
    found = words.repository("master_repo", args.master_repo)
    return "" if found == STOCKFISH.source else found


def _book(args: SubmittedArgs, known: KnownBook | None) -> Book:
    """The hash of a kept book is what it is; an official one may have changed since it was noted
    here."""
    given = words.book_sri("book_sri", args.book_sri)
    if known is not None and known.kept:
        require(given in ("", known.sri), "book_sri", "the book that is kept here has another hash")
    return Book(
        words.book("book", args.book),
        words.book_depth("book_depth", args.book_depth),
        official=known is None or known.official,
        sri=given or (known.sri if known else ""),
    )


def _check_schemes(args: SubmittedArgs, around: Surroundings) -> None:
    """An engine's own source is as its record has it; of others' this server must be able to
    fetch what workers can't."""
    given = {"tests_repo": args.tests_repo, "new_repo": args.new_repo, "base_repo": args.base_repo}
    for field, repository in given.items():
        if repository:
            scheme = _scheme(source_address(repository))
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
    installed = around.catalogue.record(side.engine).recipe in ("installed", BUNDLED)
    return bool(side.repository) and not (side.binary or installed)


def _scaled(args: SubmittedArgs, plan: Plan, around: Surroundings) -> Rules:
    """An engine of unknown speed is played by the clock as it is: scaled by another engine's, a
    slow one would think for an hour where a minute is meant."""
    known = args.reference_nps is not UNSET or known_nps(plan.engine, around) > 0
    return plan.rules if known else replace(plan.rules, scaled=False)


def _rules(args: SubmittedArgs) -> Rules:
    return Rules(
        adjudicated=args.adjudication,
        resign=_resign(args.resign),
        draw=_draw(args.draw),
        syzygy_men=args.syzygy_men or 0,
        variant=args.variant or "",
        scaled=args.scaling != "off",
        time_margin_ms=None if args.time_margin_ms is UNSET else args.time_margin_ms,
        strict_pvs=args.strict_pv is True,
        pgn_detail=args.pgn_detail or "",
    )


def _resign(rule: ResignRule | UnsetType) -> Resign | None:
    return None if rule is UNSET else Resign(rule.score, rule.moves, rule.two_sided)


def _draw(rule: DrawRule | UnsetType) -> Draw | None:
    return None if rule is UNSET else Draw(rule.from_move, rule.moves, rule.score)


def _wishes(args: SubmittedArgs) -> Wishes:
    pattern = args.arch_filter
    if pattern:
        try:
            check(pattern)
        except BadPattern as fault:
            refuse("arch_filter", str(fault))
        some = any(is_found(pattern, arch) for arch in KNOWN_ARCHITECTURES)
        require(some, "arch_filter", "no known architecture matches it")
    return Wishes(pattern, "" if args.compiler is UNSET else args.compiler)


def _throughput(args: SubmittedArgs) -> int:
    found = words.whole("throughput", args.throughput)
    good = LEAST_THROUGHPUT <= found <= MOST_THROUGHPUT
    require(good, "throughput", f"expected {LEAST_THROUGHPUT} to {MOST_THROUGHPUT}")
    return found


def _priority(args: SubmittedArgs) -> int:
    found = words.whole("priority", args.priority)
    require(
        abs(found) <= MOST_PRIORITY, "priority", f"expected -{MOST_PRIORITY} to {MOST_PRIORITY}"
    )
    return found


def _info(args: SubmittedArgs, plan: Plan, around: Surroundings) -> str:
    """The submitter's words, else those of the commit; long sequential tests say so."""
    text = args.info.strip() or words.without_bench(args.msg_new)
    ratio = length_ratio(plan.tc, plan.threads, reference_nps(plan, around))
    long = args.sprt is not UNSET and ratio > LONG_RATIO
    return LONG_PREFIX + text if long and not text.startswith("LTC") else text
