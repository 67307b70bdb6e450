"""What the unit tests share: property tests try the same few examples each time, by no clock."""

from hypothesis import settings

settings.register_profile("unit", deadline=None, max_examples=25, derandomize=True, database=None)
settings.load_profile("unit")
