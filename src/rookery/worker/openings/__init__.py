"""Opening books: reading them, naming what is wrong in them, and the order they are played in."""

from rookery.worker.openings.book import Book
from rookery.worker.openings.faults import BadOpening, BookFault
from rookery.worker.openings.opening import Opening
from rookery.worker.openings.order import Order, order_of_run, sequential

__all__ = ["BadOpening", "Book", "BookFault", "Opening", "Order", "order_of_run", "sequential"]
