"""The fixtures of this tier."""

from tests.database import *  # noqa: F403 they are what it exports
