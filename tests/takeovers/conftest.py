"""The fixtures of this tier are those of the tier faults."""

from tests.faults.conftest import *  # noqa: F403 - the fixtures' module says which names are meant
