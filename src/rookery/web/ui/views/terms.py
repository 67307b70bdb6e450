"""What a run tests and by which rules: in a few words, in a sentence and as a table."""

from collections.abc import Iterator
from dataclasses import dataclass

from rookery.core.kinds import SprtTest, SpsaTuning
from rookery.core.plan import Plan, Side
from rookery.core.run import Run
from rookery.core.stats.sprt import EloModel, Sprt
from rookery.web.ui.views import words

GITHUB = "https://github.com/"
SHORT = 10
SCALES = {EloModel.NORMALISED: "nElo", EloModel.LOGISTIC: "Elo", EloModel.BAYES: "BayesElo"}


@dataclass(frozen=True, slots=True)
class Term:
    """A line of a table; `links` to where more is to be seen."""

    name: str
    text: str
    link: str = ""


def question(run: Run) -> str:
    """What the test asks, as short as a column."""
    kind = run.kind
    if isinstance(kind, SprtTest):
        spec = kind.spec
        what = "no regression" if spec.elo0 + spec.elo1 < 0 else "gain"
        return f"{what} [{words.plain(spec.elo0)}, {words.plain(spec.elo1)}]"
    if isinstance(kind, SpsaTuning):
        return f"tune of {words.several(len(kind.tune.parameters), 'parameter')}"
    return words.several(run.plan.games, "game")


def conditions(run: Run) -> str:
    """How its games are played, as short as a column."""
    plan = run.plan
    return f"{words.time_control(plan.tc)}, {words.several(plan.threads, 'thread')}"


def sentence(run: Run) -> str:
    """All that matters, for somebody who has never seen the run."""
    plan = run.plan
    if isinstance(run.kind, SpsaTuning):
        number = len(run.kind.tune.parameters)
        asked = f"Tunes {words.several(number, 'parameter')} of {_name(plan.sides[0])}"
        tail = f"over {words.several(plan.games, 'game')}"
    else:
        new, base = plan.sides[:2]
        other = base.tag if base.engine == new.engine else _name(base)
        asked = f"{_asked(run)} {_name(new)} against {other}"
        tail = f"for at most {words.several(plan.games, 'game')}"
    return (
        f"{asked} at {words.time_control(plan.tc)} with"
        f" {words.several(plan.threads, 'thread')} from {plan.book.name}, {tail}."
    )


def _asked(run: Run) -> str:
    kind = run.kind
    if not isinstance(kind, SprtTest):
        return "Measures"
    spec = kind.spec
    low, high, scale = words.plain(spec.elo0), words.plain(spec.elo1), SCALES[spec.model]
    if spec.elo0 + spec.elo1 < 0:
        return f"Asks for no regression ({low} or {high} {scale}):"
    return f"Asks for a gain ({low} or {high} {scale}):"


def _name(side: Side) -> str:
    return f"{side.engine} {side.tag}"


def difference(run: Run) -> str:
    """Where the change itself is to be read, or an empty text."""
    new, base = run.plan.sides[:2]
    if new.commit == base.commit or not new.repository.startswith(GITHUB):
        return ""
    if new.repository == base.repository:
        return f"{new.repository}/compare/{base.commit[:SHORT]}...{new.commit[:SHORT]}"
    return f"{new.repository}/commit/{new.commit}"


def terms_of(run: Run) -> tuple[Term, ...]:
    return tuple(_terms(run))


def _terms(run: Run) -> Iterator[Term]:
    plan = run.plan
    for title, side in zip(("New", "Base"), plan.sides[:2], strict=True):
        yield from _side(title, side)
    yield Term("Time control", words.time_control(plan.tc))
    for title, side in zip(("new", "base"), plan.sides[:2], strict=True):
        if side.tc is not None:
            yield Term(f"Time control, {title}", words.time_control(side.tc))
    yield Term("Threads", " and ".join(dict.fromkeys(_threads(plan))))
    yield Term("Book", f"{plan.book.name}, {plan.book.depth} plies at most")
    if isinstance(run.kind, SprtTest):
        yield from _sprt(run.kind.spec)
    yield Term("Games at most", words.count(plan.games))
    yield from _rules(plan)
    yield Term("Priority", str(plan.priority))
    yield Term("Throughput", f"{plan.throughput} %")
    if run.demands.needs:
        needs = (str(need).replace("_", " ").replace(":", " ") for need in run.demands.needs)
        yield Term("Asks of machines", ", ".join(needs))


def _side(title: str, side: Side) -> Iterator[Term]:
    known = side.repository.startswith(GITHUB) and not side.binary
    link = f"{side.repository}/tree/{side.commit}" if known else ""
    yield Term(title, f"{_name(side)}{_source(side)}", link)
    if side.message:
        yield Term(f"{title}, message", side.message)
    if side.signature:
        yield Term(f"{title}, bench", side.signature)
    spaced = (f"{name}={value}" for name, value in side.uci)
    options = " ".join(filter(None, (side.options, *spaced)))
    yield Term(f"{title}, options", options or "none")
    if side.nets:
        yield Term(f"{title}, nets", ", ".join(side.nets))


def _source(side: Side) -> str:
    """Where a program comes from; one that is installed on the machines comes from nowhere."""
    if side.binary:
        return f" (binary {side.binary[:SHORT]})"
    return f" ({side.commit[:SHORT]})" if side.commit.strip("0") else ""


def _threads(plan: Plan) -> Iterator[str]:
    for side in plan.sides[:2]:
        yield str(plan.side_threads(side))


def _sprt(spec: Sprt) -> Iterator[Term]:
    scale = SCALES[spec.model]
    yield Term("Bounds", f"[{words.plain(spec.elo0)}, {words.plain(spec.elo1)}] {scale}")
    rates = f"α {words.plain(spec.alpha)}, β {words.plain(spec.beta)}"
    yield Term("Error rates", rates)
    yield Term("Pairs in a batch", str(spec.batch_size))


def _rules(plan: Plan) -> Iterator[Term]:
    rules = plan.rules
    yield Term("Adjudication", "on" if rules.adjudicated else "off")
    if rules.resign is not None:
        resign = rules.resign
        yield Term("Resign", f"at {resign.score} centipawns for {resign.moves} moves")
    if rules.draw is not None:
        draw = rules.draw
        limits = f"{draw.score} centipawns for {draw.moves} moves"
        yield Term("Draw", f"from move {draw.from_move} within {limits}")
    if plan.wishes.arch_filter:
        yield Term("Processors", plan.wishes.arch_filter)
    if plan.auto_purge:
        yield Term("Purge", "at the end, by itself")
