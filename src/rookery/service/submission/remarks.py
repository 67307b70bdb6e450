"""What a submitter should hear about a run that was made all the same: legal, but seldom meant."""

from collections.abc import Iterator

from rookery.core.kinds import SpsaTuning
from rookery.core.machine import OFFICIAL
from rookery.core.needs import Need, NeedWord, first_missing
from rookery.core.run import Run
from rookery.core.spsa import remarks
from rookery.service.submission.expectation import expected_games
from rookery.service.submission.surroundings import KnownBook

MOST_REMARKS = 20
LARGE_PART = 0.8
"""Of a book: beyond it pairs begin to be alike, and count for less than they seem to."""


def remarks_on(run: Run, book: KnownBook | None = None) -> tuple[str, ...]:
    """Sentences, the most general first; never more than a person reads."""
    return tuple(_remarks(run, book))[:MOST_REMARKS]


def _remarks(run: Run, book: KnownBook | None) -> Iterator[str]:
    missing = first_missing(run.demands.needs, OFFICIAL)
    if missing is not None:
        yield f"official workers can't play this run: {missing.sentence}"
    elif not run.plan.book.sri:
        yield "book_sri: without the book's hash official workers can't check the book"
    if run.plan.games < run.kind.step:
        yield f"num_games: reports come in steps of {run.kind.step} games, so that many are played"
    if not run.plan.rules.scaled and Need(NeedWord.OWN_SPEED) in run.demands.needs:
        yield (
            "times are not scaled to a machine's speed: the engine's record and the machines"
            " so far tell no reference for it, or scaling is off"
        )
    if book is None and missing is not None and not run.plan.book.sri:
        yield f"book: {run.plan.book.name} is neither kept here nor known as an official one"
    yield from _book_remarks(run, book)
    if isinstance(run.kind, SpsaTuning):
        yield from (remark.text for remark in remarks(run.kind.tune))


def _book_remarks(run: Run, book: KnownBook | None) -> Iterator[str]:
    """Of a book that nobody here has heard of there is nothing to say."""
    if book is None:
        return
    needed = expected_games(run) / 2
    if needed > LARGE_PART * book.openings:
        yield (
            f"book: about {needed:,.0f} openings are needed, and {run.plan.book.name} has"
            f" {book.openings:,}: many will be played more than once"
        )
