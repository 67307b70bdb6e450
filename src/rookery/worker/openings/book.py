"""A book of openings: its text and where each opening begins; each is read when it is asked for."""

from dataclasses import dataclass, field
from pathlib import Path

from rookery.worker.openings import epd, packing, pgn
from rookery.worker.openings.faults import BadOpening, EmptyBook
from rookery.worker.openings.opening import Opening
from rookery.worker.openings.packing import Format

FISCHER_RANDOM_NAMES = ("frc", "960")


@dataclass(frozen=True, slots=True)
class Book:
    """Openings in the order of the file. Bad ones keep their place, or the order would shift."""

    name: str
    format: Format
    text: bytes = field(repr=False)
    starts: "memoryview[int]" = field(repr=False)
    plies: int | None = None

    @staticmethod
    def load(path: Path, *, plies: int | None = None) -> "Book":
        """Read a book file; `plies` limits the moves of a PGN opening. Raises a BookFault."""
        kind, text = packing.read(path)
        return Book.parse(path.name, kind, text, plies=plies)

    @staticmethod
    def parse(name: str, kind: Format, text: bytes, *, plies: int | None = None) -> "Book":
        """A book from its text, whose lines end in line feeds."""
        starts = epd.starts(text) if kind is Format.EPD else pgn.starts(text)
        if not starts:
            raise EmptyBook(name=name)
        return Book(name, kind, text, memoryview(starts), plies)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sri(self) -> str:
        """What a task names the book by."""
        return packing.sri(self.text)

    @property
    def is_chess960(self) -> bool:
        """Whether the name asks for Fischer random, by the contract's rule."""
        return any(word in self.name.lower() for word in FISCHER_RANDOM_NAMES)

    def __getitem__(self, index: int) -> Opening:
        """An opening by its place in the file (from 0); raises BadOpening."""
        raw = self._raw(index).decode("utf-8", "replace")
        try:
            if self.format is Format.EPD:
                return epd.opening(raw, chess960=self.is_chess960)
            return pgn.opening(raw, plies=self.plies, chess960=self.is_chess960)
        except ValueError as error:
            raise self._bad(index, str(error)) from error

    def _raw(self, index: int) -> bytes:
        if not 0 <= index < len(self.starts):
            raise IndexError(index)
        begin = self.starts[index]
        if self.format is Format.EPD:
            end = self.text.find(b"\n", begin)
            return self.text[begin:] if end < 0 else self.text[begin:end]
        is_last = index + 1 == len(self.starts)
        return self.text[begin : None if is_last else self.starts[index + 1]]

    def _bad(self, index: int, why: str) -> BadOpening:
        line = self.text.count(b"\n", 0, self.starts[index]) + 1
        first = self._raw(index).split(b"\n", 1)[0].decode("utf-8", "replace")
        return BadOpening(name=self.name, line=line, why=why, text=first)
