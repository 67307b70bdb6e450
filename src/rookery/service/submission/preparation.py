"""What has to be looked up before a submission can become a run: by the rows, never by guessing."""

from dataclasses import dataclass

from msgspec import UNSET

from rookery.books import official_books
from rookery.protocol.submission import SubmittedArgs
from rookery.service.sources.binaries import Binaries
from rookery.service.sources.books import BookStore
from rookery.service.submission.faults import require
from rookery.service.submission.surroundings import KnownBook


@dataclass(frozen=True, slots=True)
class Preparation:
    """Asks for what a submission names; what is there already costs no call."""

    binaries: Binaries
    books: BookStore

    async def book(self, name: str) -> KnownBook | None:
        """What is known of a book: by a copy that is kept here, or as one of the official ones."""
        kept, official = await self.books.by_name(name), official_books().get(name)
        if kept is not None:
            return KnownBook(kept.openings, kept.sri, official=official is not None)
        if official is None:
            return None
        return KnownBook(official.openings, official.sri, official=True, kept=False)

    async def prepared(self, args: SubmittedArgs) -> SubmittedArgs:
        """The submission with nothing left to look up; raises WireFault."""
        for field, found in (("new_binary", args.new_binary), ("base_binary", args.base_binary)):
            if found is not UNSET:
                known = await self.binaries.by_hash(found) is not None
                require(known, field, "no program of this hash was uploaded here")
        return args
