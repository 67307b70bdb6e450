"""Acceptance tests may ask for a database of their own."""

from tests.database import *  # noqa: F403 - the fixtures' module says which names are meant
