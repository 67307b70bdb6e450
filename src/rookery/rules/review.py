"""What an approver should know of a run before it is let onto machines.

`review_submission` looks at the run itself, at the engine's record and at what the server has read
in the sources; it decides nothing. A hint that is `WRONG` makes the test worthless in most cases,
one that is worth a `LOOK` may be meant, a `NOTE` only tells.
"""

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec import Struct

from rookery.model.engine import EngineRecord, PresetRecord
from rookery.model.kinds import Fixed, SprtTest, SpsaTuning
from rookery.model.plan import Plan, Side
from rookery.model.presets import read_preset
from rookery.model.run import Run

MAIN_NAMES = frozenset({"master", "main", "HEAD", "dev", "develop", "trunk"})
LARGE_DIFF = 1000
USUAL_THROUGHPUT = 100
MOST_NAMED = 6
MOST_TRIAL_GAMES = 20
"""So few games of a side against itself are meant to show that it plays."""


class Severity(enum.StrEnum):
    """How much a hint matters, the most first."""

    WRONG = "wrong"
    LOOK = "look"
    NOTE = "note"


ORDER = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Hint:
    """One thing to know, in words."""

    severity: Severity
    text: str


class SourceFacts(Struct, frozen=True, omit_defaults=True):
    """What was read in the sources of a run's two sides, once, by the server. What is None could
    not be found out; `trouble` says why, where nothing could be read."""

    trouble: str = ""
    ancestor: bool | None = None
    """Whether the base is an ancestor of the new side."""
    base_on_main: bool | None = None
    """Whether the engine's main branch contains the base."""
    files: int | None = None
    added: int = 0
    removed: int = 0
    nets: tuple[str, ...] = ()
    """Those that both sources name."""
    missing_nets: tuple[str, ...] = ()
    private_nets: tuple[str, ...] = ()
    message_bench: str = ""
    """The bench that the new side's commit names."""


class ReviewFacts(Struct, frozen=True, omit_defaults=True):
    """All that can't be seen in the run itself."""

    earlier_runs: int | None = None
    """Of its owner, before this one."""
    sources: SourceFacts | None = None


NO_FACTS = ReviewFacts()


def review_submission(
    run: Run, record: EngineRecord, facts: ReviewFacts = NO_FACTS
) -> tuple[Hint, ...]:
    """The hints about a run, what matters most first."""
    found = [
        *_review_sides(run),
        *_review_share(run.plan),
        *_review_options(run),
        *_review_conditions(run, record),
        *_review_bench(run, facts.sources),
        *_review_person(run, facts),
        *(_review_sources(facts.sources) if facts.sources else ()),
    ]
    return tuple(sorted(found, key=lambda hint: ORDER.index(hint.severity)))


def _review_sides(run: Run) -> Iterator[Hint]:
    if isinstance(run.kind, SpsaTuning):
        return
    new, base = run.plan.sides[:2]
    if _what_plays(run.plan, new) == _what_plays(run.plan, base):
        yield _review_twins(run)
    elif base.tag not in MAIN_NAMES and not base.binary:
        yield Hint(Severity.NOTE, f"The base is {base.tag}, not the main branch by its name.")
    if run.plan.side_tc(new) != run.plan.side_tc(base):
        odds = f"{run.plan.side_tc(new)} against {run.plan.side_tc(base)}"
        yield Hint(Severity.LOOK, f"Time odds: the new side plays at {odds}.")
    if run.plan.side_threads(new) != run.plan.side_threads(base):
        odds = f"{run.plan.side_threads(new)} against {run.plan.side_threads(base)}"
        yield Hint(Severity.LOOK, f"Unequal threads: {odds}.")


def _review_twins(run: Run) -> Hint:
    """Of a side against itself: a few games are how somebody tries whether an engine plays."""
    if isinstance(run.kind, Fixed) and run.plan.games <= MOST_TRIAL_GAMES:
        return Hint(Severity.NOTE, "A trial: both sides are the same, and play a few games.")
    return Hint(Severity.WRONG, "Both sides are the same: the test can only measure chance.")


def _what_plays(plan: Plan, side: Side) -> tuple[object, ...]:
    options = frozenset(side.options.split())
    # Zeros stand for a branch that nobody has looked up yet.
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
    new, base = run.plan.sides[:2]
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
    """Time controls and bounds that none of the engine's presets has."""
    plan, presets = run.plan, [(each, read_preset(each)) for each in record.presets]
    played = {(_tc_of(each), str(fields.get("threads", 1))) for each, fields in presets}
    if presets and (plan.tc, str(plan.threads)) not in played:
        threads = f"{plan.threads} thread{'s' if plan.threads > 1 else ''}"
        yield Hint(Severity.LOOK, f"{plan.tc} with {threads} is none of the engine's presets.")
    if isinstance(run.kind, SprtTest):
        spec = run.kind.spec
        known = [fields["sprt"] for _, fields in presets if isinstance(fields.get("sprt"), dict)]
        same = any(
            (each.get("elo0"), each.get("elo1")) == (spec.elo0, spec.elo1)
            for each in known
            if isinstance(each, dict)
        )
        if known and not same:
            bounds = f"[{spec.elo0:g}, {spec.elo1:g}]"
            yield Hint(Severity.LOOK, f"The bounds {bounds} are none of the engine's presets.")


def _tc_of(preset: PresetRecord) -> str:
    return preset.settings.get("tc", "")


def _review_bench(run: Run, sources: SourceFacts | None) -> Iterator[Hint]:
    new, base = run.plan.sides[:2]
    if new.binary or isinstance(run.kind, SpsaTuning):
        return
    if not new.signature:
        yield Hint(Severity.LOOK, "The bench of the new side is not known.")
    elif new.signature == base.signature and new.commit != base.commit:
        yield Hint(Severity.NOTE, "Both sides have the same bench: no functional change.")
    told = sources.message_bench if sources else ""
    if told and new.signature and told != new.signature:
        yield Hint(
            Severity.LOOK,
            f"The bench was changed: {new.signature} is given, the commit names {told}.",
        )


def _review_person(run: Run, facts: ReviewFacts) -> Iterator[Hint]:
    if facts.earlier_runs == 0:
        yield Hint(Severity.LOOK, f"This is the first test of {run.plan.owner}.")


def _review_sources(facts: SourceFacts) -> Iterator[Hint]:
    if facts.trouble:
        yield Hint(Severity.NOTE, f"The sources could not be looked at: {facts.trouble}.")
    if facts.ancestor is False:
        yield Hint(
            Severity.LOOK,
            "The base is no ancestor of the new side: the diff holds more than a patch.",
        )
    if facts.base_on_main is False:
        yield Hint(Severity.LOOK, "The base is not on the engine's main branch.")
    if facts.missing_nets:
        yield Hint(
            Severity.WRONG,
            f"The sources name nets that are not kept here: {_enumerate(facts.missing_nets)}.",
        )
    if facts.private_nets:
        named = _enumerate(facts.private_nets)
        yield Hint(Severity.LOOK, f"It plays with a net of a private engine: {named}.")
    if facts.files is not None:
        yield _describe_diff(facts)


def _describe_diff(facts: SourceFacts) -> Hint:
    lines = f"{facts.added:,} lines added, {facts.removed:,} removed in {facts.files} files"
    large = facts.added + facts.removed > LARGE_DIFF
    return Hint(Severity.LOOK if large else Severity.NOTE, f"The diff: {lines}.")


def _enumerate(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return ", ".join(every[:MOST_NAMED]) + more
