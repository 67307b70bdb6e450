"""What a submitter should hear about a run that was made all the same: legal, but seldom meant."""

from collections.abc import Iterator

from rookery.core.kinds import SpsaTuning
from rookery.core.machine import OFFICIAL
from rookery.core.needs import first_missing
from rookery.core.run import Run
from rookery.core.spsa import remarks

MOST_REMARKS = 20


def remarks_on(run: Run) -> tuple[str, ...]:
    """Sentences, the most general first; never more than a person reads."""
    return tuple(_remarks(run))[:MOST_REMARKS]


def _remarks(run: Run) -> Iterator[str]:
    missing = first_missing(run.demands.needs, OFFICIAL)
    if missing is not None:
        yield f"official workers can't play this run: {missing.sentence}"
    elif not run.plan.book.sri:
        yield "book_sri: without the book's hash official workers can't check the book"
    if run.plan.games < run.kind.step:
        yield f"num_games: reports come in steps of {run.kind.step} games, so that many are played"
    if isinstance(run.kind, SpsaTuning):
        yield from (remark.text for remark in remarks(run.kind.tune))
