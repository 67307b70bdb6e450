"""The order in which the openings of a book are played: the same that fastchess uses for a seed.

It is drawn with the 64-bit Mersenne twister of the C++ standard library, which is made fast here by
arithmetic on whole blocks.

The 312 words of its state are kept as one large integer, word i in the bits from 64 * i on. Shifts
and masks then work on all words at once: a shift moves bits into the neighbouring word, and the
following mask removes exactly those. Thus a block of 312 draws costs a few operations on 20,000-bit
integers instead of some thousand on small ones.
"""

import hashlib
import sys
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice

WORDS = 312
HALF = WORDS // 2
WORD_BITS = 64
WORD_MASK = (1 << WORD_BITS) - 1

SEED_FACTOR = 6364136223846793005
TWIST = 0xB5026F5AA96619E9
UPPER_BITS = WORD_MASK & ~((1 << 31) - 1)
LOWER_BITS = (1 << 31) - 1


def _every(word: int, words: int) -> int:
    """Return an integer with the same word in every place."""
    return int.from_bytes(word.to_bytes(8, "little") * words, "little")


HALF_BITS = HALF * WORD_BITS
HALF_MASK = (1 << HALF_BITS) - 1
UPPER_HALF = _every(UPPER_BITS, HALF)
LOWER_HALF = _every(LOWER_BITS, HALF)
LOWEST_HALF = _every(1, HALF)
# A right shift by n moves n bits of another word into the top of each word, a left shift into the
# bottom.
TEMPER_29 = _every(0x5555555555555555 & (WORD_MASK >> 29), WORDS)
TEMPER_17 = _every(0x71D67FFFEDA60000 & (WORD_MASK << 17) & WORD_MASK, WORDS)
TEMPER_37 = _every(0xFFF7EEE000000000 & (WORD_MASK << 37) & WORD_MASK, WORDS)
TEMPER_43 = _every(WORD_MASK >> 43, WORDS)


def mersenne_numbers(seed: int) -> Iterator[int]:
    """Yield the endless sequence of numbers that std::mt19937_64 generates for a seed."""
    state = _seeded(seed & WORD_MASK)
    while True:
        state = _next_block(state)
        yield from _words(_tempered(state))


def _seeded(seed: int) -> int:
    words = [seed]
    for index in range(1, WORDS):
        last = words[-1]
        words.append((SEED_FACTOR * (last ^ (last >> 62)) + index) & WORD_MASK)
    return int.from_bytes(b"".join(word.to_bytes(8, "little") for word in words), "little")


def _next_block(state: int) -> int:
    """Return the next state: the first half needs only old words, the second half needs the new
    first half."""
    low, high = state & HALF_MASK, state >> HALF_BITS
    first_high = (high & WORD_MASK) << (HALF_BITS - WORD_BITS)
    new_low = high ^ _twisted(low, (low >> WORD_BITS) | first_high)
    first_low = (new_low & WORD_MASK) << (HALF_BITS - WORD_BITS)
    new_high = new_low ^ _twisted(high, (high >> WORD_BITS) | first_low)
    return new_low | (new_high << HALF_BITS)


def _twisted(half: int, following: int) -> int:
    """Return the twist of each word with the following word."""
    mixed = (half & UPPER_HALF) | (following & LOWER_HALF)
    odd = mixed & LOWEST_HALF
    # `odd` has one bit per word, so the product is the twist in each odd word. The bits that the
    # shift would move between words are the same lowest bits.
    return ((mixed ^ odd) >> 1) ^ (odd * TWIST)


def _tempered(block: int) -> int:
    block ^= (block >> 29) & TEMPER_29
    block ^= (block << 17) & TEMPER_17
    block ^= (block << 37) & TEMPER_37
    return block ^ ((block >> 43) & TEMPER_43)


def _words(block: int) -> "array[int]":
    words = array("Q")
    words.frombytes(block.to_bytes(WORDS * 8, "little"))
    if sys.byteorder == "big":
        words.byteswap()
    return words


# The order in which openings are played: exactly fastchess's, so that all workers of a run agree.
#
# The lines are shuffled forwards with std::mt19937_64 (for i in 0..n-2: j = i + draw mod (n - i),
# swap), rotated left by start - 1 and repeated from the beginning when they are used up. Step i
# settles place i, so the shuffle is done only as far as needed.

CROWDED = 0.8
"""The share of a book beyond which a run soon repeats openings."""


def seed_of_run(run_id: str) -> int:
    """SHA-1 of the run's id as an integer, modulo 2^64."""
    return int.from_bytes(hashlib.sha1(run_id.encode()).digest(), "big") % 2**64  # noqa: S324 - no secret


class OpeningOrder:
    """Which line of the book is the n-th opening of a run. It is shuffled as far as needed."""

    def __init__(self, size: int, *, seed: int | None, start: int = 1) -> None:
        if size < 1 or start < 1:
            raise ValueError(f"an order needs openings and a start from 1 on: {size=}, {start=}")
        self.size = size
        self._offset = start - 1
        self._lines: Sequence[int] = range(size)
        self._settled = size
        if seed is not None:
            self._shuffle = _shuffle(shuffled := array("L", range(size)), mersenne_numbers(seed))
            self._lines, self._settled = shuffled, 0

    def __getitem__(self, pair: int) -> int:
        """Return the book line (from 0) of the pair with this number (from 0, counted from the
        start)."""
        if pair < 0:
            raise IndexError(pair)
        place = (self._offset + pair) % self.size
        if place >= self._settled:
            steps = place + 1 - self._settled
            self._settled += sum(1 for _ in islice(self._shuffle, steps))
        return self._lines[place]

    def take(self, pairs: int) -> list[int]:
        """Return the book lines of the first pairs."""
        return [self[pair] for pair in range(pairs)]


def order_of_run(size: int, run_id: str, *, start: int = 1) -> OpeningOrder:
    """Return the order that all workers of a run share. A task starts at 1 + games before it //
    2."""
    return OpeningOrder(size, seed=seed_of_run(run_id), start=start)


def _shuffle(lines: "array[int]", chance: Iterator[int]) -> Iterator[None]:
    """Settle one place per step."""
    size = len(lines)
    for place in range(size - 1):
        other = place + next(chance) % (size - place)
        lines[place], lines[other] = lines[other], lines[place]
        yield
    yield
