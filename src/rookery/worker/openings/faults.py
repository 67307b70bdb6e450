"""What can be wrong with a book; the docstring of each class is its message."""

from rookery.core.fault import Fault


class BookFault(Fault):
    """the opening book can't be used"""


class UnreadableBook(BookFault):
    """the book {name} can't be read: {why}"""


class UnknownFormat(BookFault):
    """the book {name} is neither .epd nor .pgn, plain or packed as .zip or .gz"""


class EmptyBook(BookFault):
    """the book {name} has no openings"""


class BadOpening(BookFault):
    """line {line} of the book {name} is not an opening ({why}): {text}"""

    def __init__(self, *, name: str, line: int, why: str, text: str) -> None:
        super().__init__(name=name, line=line, why=why, text=text[:80])
        self.line = line
        self.why = why
