"""Results and bounds for properties that hold for all of them."""

from hypothesis import settings
from hypothesis import strategies as st

# The same examples every time: a property that breaks must break on every machine.
PROPERTY = settings(max_examples=25, deadline=None, derandomize=True, database=None)

MODERATE = st.integers(0, 20_000)
ANY = st.one_of(st.integers(0, 3), st.integers(0, 10**7))


def bins_of(counts: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[int, ...]]:
    return st.one_of(*(st.tuples(*[counts] * size) for size in (3, 5)))


moderate_bins = bins_of(MODERATE)
any_bins = bins_of(ANY)


def bounds_within(reach: float) -> st.SearchStrategy[tuple[float, float]]:
    """Return a lower bound and a higher one, at least half an Elo apart."""
    return st.tuples(st.floats(-reach, reach - 0.5), st.floats(0.5, reach)).map(
        lambda pair: (pair[0], min(reach, pair[0] + pair[1]))
    )
