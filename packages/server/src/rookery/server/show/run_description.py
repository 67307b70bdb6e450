"""Describes what a run tests and how: the names of its sides, a few words, a sentence."""

from collections.abc import Iterator

from rookery.core.http_places import is_web_address
from rookery.core.model.plan import Plan, Side
from rookery.core.model.run import Run
from rookery.server.http.pages.formatting import format_plural, format_time_control
from rookery.server.show.kinds import page_of

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


def find_message(run: Run) -> str:
    """The commit message of the new side; empty if the submitter's description repeats it."""
    message = cut_bench(run.plan.new.message)
    return "" if message in run.plan.info.strip() else message


def cut_bench(message: str) -> str:
    """A commit message without a last line that has only the bench, which the settings show."""
    text, _, last = message.strip().rpartition("\n")
    return text.rstrip() if last.lower().startswith("bench:") else message.strip()


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


def find_source_address(side: Side) -> str:
    """The address of a side's commit at GitHub; for other hosts, of its repository."""
    if side.binary or not is_web_address(side.repository):
        return ""
    github = side.repository.startswith(GITHUB)
    return f"{side.repository}/tree/{side.commit}" if github else side.repository


def name_source(side: Side) -> str:
    """A side with the origin of its program. One that is installed on the machines has none."""
    if side.binary:
        return f"{_name(side)} (binary {side.binary[:SHORT]})"
    return f"{_name(side)} ({side.commit[:SHORT]})" if side.commit.strip("0") else _name(side)


def spell_options(side: Side) -> str:
    spaced = (f"{name}={value}" for name, value in side.uci)
    return " ".join(filter(None, (side.options, *spaced)))


def list_needs(run: Run) -> tuple[str, ...]:
    """What machines need for a run, in words."""
    return tuple(str(need).replace("_", " ").replace(":", " ") for need in run.demands.needs)
