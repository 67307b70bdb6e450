"""Who plays whom, from which opening, in which order."""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations, count

from rookery.worker.match.faults import MatchFault
from rookery.worker.match.job import PairJob
from rookery.worker.match.spec import EngineSpec
from rookery.worker.openings import Book, BookFault, Opening, Order
from rookery.worker.openings.opening import STANDARD

Openings = Callable[[int], Opening]
"""The opening of a round, counted from 0."""


def openings_of(book: Book | None, order: Order | None) -> Openings:
    """The n-th opening of a book in this order; the starting position without a book."""
    if book is None or order is None:
        return lambda _: STANDARD

    def opening(number: int) -> Opening:
        try:
            return book[order[number]]
        except BookFault as fault:
            raise MatchFault(f"{fault}.") from None

    return opening


def round_robin(engines: Sequence[EngineSpec]) -> list[tuple[EngineSpec, EngineSpec]]:
    return list(combinations(engines, 2))


def gauntlet(engines: Sequence[EngineSpec]) -> list[tuple[EngineSpec, EngineSpec]]:
    """The first against each of the others."""
    return [(engines[0], other) for other in engines[1:]]


def jobs(
    pairings: Sequence[tuple[EngineSpec, EngineSpec]],
    openings: Openings,
    *,
    rounds: int | None = None,
    played: Collection[int] = (),
) -> Iterator[PairJob]:
    """Round by round every pairing, all from the round's opening; what was played is left out."""
    for turn in count() if rounds is None else range(rounds):
        for place, (first, second) in enumerate(pairings):
            number = turn * len(pairings) + place
            if number not in played:
                yield PairJob(number, openings(turn), first, second)
