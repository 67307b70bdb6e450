"""What an approver should know about a run before it is played on machines.

`review_submission` examines the run itself, the engine's record and what the server has read in the
sources; it decides nothing. A `WRONG` hint usually makes the test worthless, a `LOOK` may be
intended, a `NOTE` only informs.
"""

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec import Struct, ValidationError, convert

from rookery.core.model.engine import BUNDLED, EngineRecord
from rookery.core.model.plan import Plan, Side
from rookery.core.model.presets import list_presets, read_preset
from rookery.core.model.run import Run
from rookery.core.stats.numbers import StatisticsFault
from rookery.core.stats.sprt import Sprt

MAIN_NAMES = frozenset({"master", "main", "HEAD", "dev", "develop", "trunk"})
"""The usual names of main branches, for engines whose record does not name one."""
LARGE_DIFF = 1000
USUAL_THROUGHPUT = 100
MOST_NAMED = 6
UNBUILT = ("installed", BUNDLED)
"""Recipes of engines that are not built from sources."""


class Severity(enum.StrEnum):
    """The severity of a hint, most severe first."""

    WRONG = "wrong"
    LOOK = "look"
    NOTE = "note"


ORDER = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint in words."""

    severity: Severity
    text: str


UNREAD = Hint(Severity.NOTE, "The sources have not been read yet.")
"""Shown until the server has read the sources, so that the absence of hints about them is not taken
as approval."""


class SourceFacts(Struct, frozen=True, omit_defaults=True):
    """What the server has read once in the sources of a run's two sides. A value of None could not
    be found out; `trouble` tells why nothing could be read."""

    trouble: str = ""
    ancestor: bool | None = None
    """Whether the base is an ancestor of the new side."""
    base_on_main: bool | None = None
    """Whether the engine's main branch contains the base."""
    files: int | None = None
    added: int = 0
    removed: int = 0
    nets: tuple[str, ...] = ()
    """The nets that the sources of the new side name."""
    base_nets: tuple[str, ...] = ()
    """The nets that the sources of the base name."""
    missing_nets: tuple[str, ...] = ()
    """The nets that the submitter does not find on this server."""
    unlisted_nets: tuple[str, ...] = ()
    """Nets that a side's sources name but its own list of nets does not."""
    private_nets: tuple[str, ...] = ()
    nets_checked: bool = True
    """False if workers get nets from elsewhere, so that their existence was not checked."""
    message_bench: str = ""
    """The bench that the new side's commit names."""
    base_message_bench: str = ""
    """The bench that the base's commit names."""
    tree: str = ""
    """The tree of the new side, to recognise a squashed merge of it."""

    @property
    def all_nets(self) -> tuple[str, ...]:
        """The nets that the sources of either side name."""
        return tuple(dict.fromkeys((*self.nets, *self.base_nets)))


class ReviewFacts(Struct, frozen=True, omit_defaults=True):
    """The facts for a review that are not in the run itself."""

    earlier_runs: int | None = None
    """The number of earlier runs of its owner."""
    sources: SourceFacts | None = None
    """What was read in the sources; None until they have been read."""


NO_FACTS = ReviewFacts()


def review_submission(
    run: Run, record: EngineRecord, facts: ReviewFacts = NO_FACTS
) -> tuple[Hint, ...]:
    """Return the hints about a run, most severe first."""
    found = [
        # These come first among hints of equal severity: they can't be seen in the run, and some
        # pages show few hints.
        *(_review_sources(run, facts.sources) if facts.sources else _review_unread(run, record)),
        *_review_sides(run, record),
        *_review_share(run.plan),
        *_review_options(run),
        *_review_conditions(run, record),
        *_review_bench(run, facts.sources),
        *_review_person(run, facts),
    ]
    return tuple(sorted(found, key=lambda hint: ORDER.index(hint.severity)))


def is_built(side: Side, record: EngineRecord) -> bool:
    """Whether a side is built from sources, by the record of its engine."""
    return bool(side.repository) and not side.binary and record.needed_recipe not in UNBUILT


def _review_sides(run: Run, record: EngineRecord) -> Iterator[Hint]:
    if not run.kind.compares:
        return
    new, base = run.plan.sides
    if _what_plays(run.plan, new) == _what_plays(run.plan, base):
        yield _review_twins(run)
    elif base.tag not in _name_main(record) and not base.binary:
        yield Hint(Severity.NOTE, f"The base is {base.tag}, not the main branch by its name.")
    if run.plan.side_tc(new) != run.plan.side_tc(base):
        odds = f"{run.plan.side_tc(new)} against {run.plan.side_tc(base)}"
        yield Hint(Severity.LOOK, f"Time odds: the new side plays at {odds}.")
    if run.plan.side_threads(new) != run.plan.side_threads(base):
        odds = f"{run.plan.side_threads(new)} against {run.plan.side_threads(base)}"
        yield Hint(Severity.LOOK, f"Unequal threads: {odds}.")


def _name_main(record: EngineRecord) -> frozenset[str]:
    return frozenset({record.branch, "HEAD"}) if record.branch else MAIN_NAMES


def _review_twins(run: Run) -> Hint:
    """Return the hint for a side against itself: with few games it is a trial of whether the engine
    plays."""
    if run.kind.is_trial(run.plan.games):
        return Hint(Severity.NOTE, "A trial: both sides are the same, and play a few games.")
    return Hint(Severity.WRONG, "Both sides are the same: the test can only measure chance.")


def _what_plays(plan: Plan, side: Side) -> tuple[object, ...]:
    options = frozenset(side.options.split())
    # A commit of zeros stands for a branch that has not been looked up yet.
    program = side.binary or (side.repository, side.commit if side.commit.strip("0") else side.tag)
    return (
        program, options, side.uci, side.nets, side.engine, plan.side_tc(side),
        plan.side_threads(side),
    )  # fmt: skip


def _review_share(plan: Plan) -> Iterator[Hint]:
    if plan.throughput > USUAL_THROUGHPUT:
        yield Hint(
            Severity.LOOK,
            f"Throughput {plan.throughput} %: it takes more machines from the others than usual.",
        )
    elif plan.throughput < USUAL_THROUGHPUT:
        yield Hint(Severity.NOTE, f"Throughput {plan.throughput} %: it lets the others go first.")
    if plan.priority:
        way = "before all tests of lower priority" if plan.priority > 0 else "after the others"
        level = Severity.LOOK if plan.priority > 0 else Severity.NOTE
        yield Hint(level, f"Priority {plan.priority}: it is played {way}.")


def _review_options(run: Run) -> Iterator[Hint]:
    new, base = run.plan.sides
    ours, theirs = _read_options(new), _read_options(base)
    differing = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    for name in ("Hash", "Threads"):
        if name in differing:
            values = f"{ours.get(name, 'the default')} against {theirs.get(name, 'the default')}"
            yield Hint(Severity.LOOK, f"{name} differs: {values}.")
    others = [name for name in differing if name not in ("Hash", "Threads")]
    if others:
        yield Hint(Severity.NOTE, f"The sides differ in the options {_enumerate(others)}.")
    if "Threads" in ours.keys() | theirs.keys():
        yield Hint(Severity.LOOK, "Threads are set as an option: the field for threads is ignored.")


def _read_options(side: Side) -> dict[str, str]:
    tokens = (token.partition("=") for token in side.options.split())
    return {name: value for name, _, value in tokens} | dict(side.uci)


def _review_conditions(run: Run, record: EngineRecord) -> Iterator[Hint]:
    plan = run.plan
    if meant := plan.master_repo:
        yield Hint(Severity.NOTE, f"The patch is meant for {meant}, not for the official engine.")
    if plan.variant and plan.variant != plan.book_variant:
        yield Hint(
            Severity.LOOK,
            f"{plan.book} looks like a book of {plan.book_variant} games, but"
            f" {plan.variant} is played.",
        )
    if not plan.adjudication and not (plan.resign or plan.draw):
        yield Hint(Severity.NOTE, "Games are played to their end, without adjudication.")
    if plan.arch_filter or plan.compiler:
        yield Hint(Severity.NOTE, "Only some machines may play it (architecture or compiler).")
    yield from _review_presets(run, record)


def _review_presets(run: Run, record: EngineRecord) -> Iterator[Hint]:
    """Hints about a combination of time control, threads and bounds that is in none of the engine's
    presets. An engine without presets is not compared with `quick`, which every engine has."""
    if not record.presets:
        return
    plan, presets = run.plan, [read_preset(each) for each in list_presets(record)]
    conditions = f"{plan.tc} with {plan.threads} thread{'s' if plan.threads > 1 else ''}"
    alike = [each for each in presets if _plays_alike(plan, each)]
    if not alike:
        yield Hint(Severity.LOOK, f"{conditions} is not among the engine's presets.")
    if run.kind.hypotheses is not None:
        yield from _review_bounds(run.kind.hypotheses, presets, alike, conditions)


def _plays_alike(plan: Plan, preset: Mapping[str, object]) -> bool:
    """Whether a preset has the plan's time control and threads, or leaves them open."""
    tc, threads = preset.get("tc", plan.tc), preset.get("threads", 1)
    return (tc, str(threads)) == (plan.tc, str(plan.threads))


def _review_bounds(
    spec: Sprt,
    presets: Iterable[Mapping[str, object]],
    alike: Iterable[Mapping[str, object]],
    conditions: str,
) -> Iterator[Hint]:
    """Hints about bounds and error rates, compared with the presets in `alike` if there are any."""
    bounds, known = f"[{spec.elo0:g}, {spec.elo1:g}]", list(_list_bounds(presets))
    here = list(_list_bounds(alike))
    if known and all(not _has_bounds(each, spec) for each in known):
        yield Hint(Severity.LOOK, f"The bounds {bounds} are not among the engine's presets.")
    elif here and all(not _has_bounds(each, spec) for each in here):
        usual = dict.fromkeys(f"[{each.elo0:g}, {each.elo1:g}]" for each in here)
        yield Hint(
            Severity.LOOK,
            f"The bounds {bounds} belong to another preset: for {conditions} the engine has"
            f" {_enumerate(usual)}.",
        )
    rates = {(each.alpha, each.beta) for each in known if _has_bounds(each, spec)}
    usual_rates = rates or {(Sprt(0, 1).alpha, Sprt(0, 1).beta)}
    if (spec.alpha, spec.beta) not in usual_rates:
        yield Hint(
            Severity.LOOK,
            f"Its rates of error are not the usual ones: alpha {spec.alpha:g}, beta {spec.beta:g}.",
        )


def _list_bounds(presets: Iterable[Mapping[str, object]]) -> Iterator[Sprt]:
    for preset in presets:
        if isinstance(preset.get("sprt"), dict):
            try:
                yield convert(preset["sprt"], Sprt)
            except (ValidationError, StatisticsFault):
                continue


def _has_bounds(known: Sprt, spec: Sprt) -> bool:
    return (known.elo0, known.elo1) == (spec.elo0, spec.elo1)


def _review_bench(run: Run, sources: SourceFacts | None) -> Iterator[Hint]:
    new, base = run.plan.sides
    if not run.kind.compares:
        return
    told = (sources.message_bench, sources.base_message_bench) if sources else ("", "")
    for side, name, named in ((new, "new side", told[0]), (base, "base", told[1])):
        if side.binary:
            continue
        if not side.signature:
            yield Hint(Severity.LOOK, f"The bench of the {name} is not known.")
        elif named and named != side.signature:
            yield Hint(
                Severity.LOOK,
                f"The bench of the {name} was changed: {side.signature} is given, the commit"
                f" names {named}.",
            )
    same = new.signature and new.signature == base.signature
    if same and new.commit != base.commit and not new.binary:
        yield Hint(Severity.NOTE, "Both sides have the same bench: no functional change.")


def _review_person(run: Run, facts: ReviewFacts) -> Iterator[Hint]:
    if facts.earlier_runs == 0:
        yield Hint(Severity.LOOK, f"This is the first test of {run.plan.owner}.")


def _review_unread(run: Run, record: EngineRecord) -> Iterator[Hint]:
    """Yield the hint that sources are unread; not for finished runs, whose sources nobody will
    read."""
    built = all(is_built(side, record) for side in run.plan.sides)
    if built and not run.status.finished:
        yield UNREAD


def _review_sources(run: Run, facts: SourceFacts) -> Iterator[Hint]:
    if facts.trouble:
        yield Hint(Severity.LOOK, f"The sources could not be looked at: {facts.trouble}.")
    if facts.ancestor is False:
        yield Hint(
            Severity.LOOK,
            "The base is not an ancestor of the new side: the diff holds more than a patch.",
        )
    if facts.base_on_main is False and not run.plan.master_repo:
        yield Hint(Severity.LOOK, "The base is not on the engine's main branch.")
    yield from _review_nets(facts)
    if facts.files is not None:
        yield _describe_diff(facts)


def _review_nets(facts: SourceFacts) -> Iterator[Hint]:
    if facts.missing_nets:
        named = _enumerate(facts.missing_nets)
        yield Hint(Severity.WRONG, f"It needs nets that are not kept here: {named}.")
    if facts.unlisted_nets:
        named = _enumerate(facts.unlisted_nets)
        yield Hint(Severity.LOOK, f"The sources name nets that the test does not list: {named}.")
    if facts.private_nets:
        named = _enumerate(facts.private_nets)
        yield Hint(Severity.LOOK, f"It plays with a net of a private engine: {named}.")
    if not facts.nets_checked and facts.all_nets:
        named = _enumerate(facts.all_nets)
        yield Hint(
            Severity.NOTE,
            f"Nets were not checked, since workers get them from elsewhere: {named}.",
        )


def _describe_diff(facts: SourceFacts) -> Hint:
    lines = f"{facts.added:,} lines added, {facts.removed:,} removed in {facts.files} files"
    large = facts.added + facts.removed > LARGE_DIFF
    return Hint(Severity.LOOK if large else Severity.NOTE, f"The diff: {lines}.")


def _enumerate(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return ", ".join(every[:MOST_NAMED]) + more
