"""Describes what a run tests and how: the names of its sides, a few words, a sentence, a table."""

from collections.abc import Iterator

from rookery.core.http_places import is_web_address
from rookery.core.model.plan import Plan, Side
from rookery.core.model.run import Run
from rookery.core.model.timecontrol import parse
from rookery.server.farm.show.kinds import page_of
from rookery.server.farm.show.run_parts import NamedValue
from rookery.server.http.pages.formatting import (
    format_count,
    format_plural,
    format_time_control,
)

GITHUB = "https://github.com/"
SHORT = 10
LONGEST_OPTIONS = 60


# Names for the two sides. Their tags are often equal, as in a test of options or of a net.


def name_sides(run: Run) -> tuple[str, str]:
    """Names that distinguish the sides. The second is empty for a tune, which has one side."""
    new, base = run.plan.sides
    if not run.kind.compares:
        return new.tag, ""
    if new.engine != base.engine:
        return f"{new.engine} {new.tag}", f"{base.engine} {base.tag}"
    if new.tag != base.tag:
        return new.tag, base.tag
    for one, other in _list_differences(run.plan, new, base):
        if one != other:
            return f"{new.tag} {one}".strip(), f"{base.tag} {other}".strip()
    return new.tag, "itself"


def name_test(run: Run) -> str:
    """A run in one or two words, for places without room for both sides."""
    return name_sides(run)[0]


def _list_differences(plan: Plan, new: Side, base: Side) -> Iterator[tuple[str, str]]:
    """Pairs of names for the sides. The first pair that differs is used."""
    yield _short(new), _short(base)
    yield _name_options(new, base), _name_options(base, new)
    yield " ".join(new.nets), " ".join(base.nets)
    yield f"at {plan.side_tc(new)}", f"at {plan.side_tc(base)}"
    yield f"with {plan.side_threads(new)} threads", f"with {plan.side_threads(base)} threads"


def _name_options(side: Side, other: Side) -> str:
    """The options of a side that the other one does not have."""
    theirs = set(_options(other))
    found = " ".join(option for option in _options(side) if option not in theirs)
    return f"with {found[:LONGEST_OPTIONS]}" if found else "without"


def _options(side: Side) -> list[str]:
    return [*side.options.split(), *(f"{name}={value}" for name, value in side.uci)]


def _short(side: Side) -> str:
    return (side.binary or side.commit)[:SHORT]


# What is asked.


def describe_question(run: Run) -> str:
    """What a test asks, short enough for a column."""
    return page_of(run.kind).describe_question(run.plan.games)


def describe_conditions(run: Run) -> str:
    """How the games of a run are played, short enough for a column."""
    plan = run.plan
    return f"{format_time_control(plan.time_control)}, {format_plural(plan.threads, 'thread')}"


def describe_run(run: Run) -> str:
    """A sentence for somebody who does not know the run."""
    plan, (new, base) = run.plan, run.plan.sides
    other = base.tag if base.engine == new.engine else _name(base)
    page = page_of(run.kind)
    return (
        f"{page.describe_aim(_name(new), other)} at {format_time_control(plan.time_control)} with"
        f" {format_plural(plan.threads, 'thread')} from {plan.book},"
        f" {page.describe_length(plan.games)}."
    )


def _name(side: Side) -> str:
    return f"{side.engine} {side.tag}"


def find_diff_address(run: Run) -> str:
    """The address of the tested change at its host, or an empty text."""
    new, base = run.plan.sides
    if new.commit == base.commit or not new.repository.startswith(GITHUB):
        return ""
    if new.repository == base.repository:
        return f"{new.repository}/compare/{base.commit[:SHORT]}...{new.commit[:SHORT]}"
    return f"{new.repository}/commit/{new.commit}"


def link_difference(run: Run) -> str:
    """The address where the tested change can be read: at its host, or on a page here that asks
    git; empty if there is none or this reader may not see it."""
    return find_diff_address(run) or (f"/runs/{run.id}/diff" if _has_sources(run) else "")


def _has_sources(run: Run) -> bool:
    """Whether both sides are built from sources that may differ."""
    new, base = run.plan.sides
    built = all(
        side.repository and side.commit.strip("0") and not side.binary for side in (new, base)
    )
    return built and new.commit != base.commit


def list_settings(run: Run) -> tuple[NamedValue, ...]:
    return tuple(_terms(run))


def _terms(run: Run) -> Iterator[NamedValue]:
    plan = run.plan
    for title, side in zip(("New", "Base"), plan.sides, strict=True):
        yield from _side(title, side)
    yield NamedValue("Time control", format_time_control(plan.time_control))
    for title, side in zip(("new", "base"), plan.sides, strict=True):
        if side.tc is not None:
            yield NamedValue(f"Time control, {title}", format_time_control(parse(side.tc)))
    yield NamedValue("Threads", " and ".join(dict.fromkeys(_threads(plan))))
    yield NamedValue("Book", _book(plan))
    yield from page_of(run.kind).list_settings()
    yield NamedValue("Games at most", format_count(plan.games))
    yield from _rules(plan)
    yield NamedValue("Priority", str(plan.priority))
    yield NamedValue("Throughput", f"{plan.throughput} %")
    if run.demands.needs:
        needs = (str(need).replace("_", " ").replace(":", " ") for need in run.demands.needs)
        yield NamedValue("Machines need", ", ".join(needs))


def _book(plan: Plan) -> str:
    """The book in words. A book of lines is played to a depth, counted in plies."""
    if not plan.book.endswith(".pgn"):
        return plan.book
    return f"{plan.book}, {format_plural(plan.book_depth, 'move')} of each side at most"


def _side(title: str, side: Side) -> Iterator[NamedValue]:
    yield NamedValue(title, f"{_name(side)}{_source(side)}", _find_source_address(side))
    if side.message:
        yield NamedValue(f"{title}, message", side.message)
    if side.signature:
        yield NamedValue(f"{title}, bench", side.signature)
    spaced = (f"{name}={value}" for name, value in side.uci)
    options = " ".join(filter(None, (side.options, *spaced)))
    yield NamedValue(f"{title}, options", options or "none")
    if side.nets:
        yield NamedValue(f"{title}, nets", ", ".join(side.nets))


def _find_source_address(side: Side) -> str:
    """The address of a side's commit at GitHub; for other hosts, of its repository."""
    if side.binary or not is_web_address(side.repository):
        return ""
    github = side.repository.startswith(GITHUB)
    return f"{side.repository}/tree/{side.commit}" if github else side.repository


def _source(side: Side) -> str:
    """The origin of a program. One that is installed on the machines has none."""
    if side.binary:
        return f" (binary {side.binary[:SHORT]})"
    return f" ({side.commit[:SHORT]})" if side.commit.strip("0") else ""


def _threads(plan: Plan) -> Iterator[str]:
    for side in plan.sides:
        yield str(plan.side_threads(side))


def _rules(plan: Plan) -> Iterator[NamedValue]:
    alone = "by the test's own rules alone" if plan.resign or plan.draw else "off"
    yield NamedValue("Adjudication", "on" if plan.adjudication else alone)
    if plan.resign is not None:
        resign = plan.resign
        yield NamedValue("Resign", f"at {resign.score} centipawns for {resign.moves} moves")
    if plan.draw is not None:
        draw = plan.draw
        limits = f"{draw.score} centipawns for {draw.moves} moves"
        yield NamedValue("Draw", f"from move {draw.from_move} within {limits}")
    if plan.arch_filter:
        yield NamedValue("Processors", plan.arch_filter)
    if plan.auto_purge:
        yield NamedValue("Purge", "automatic, at the end")
