"""What the unit tests share: property tests are judged by what they find, never by the clock."""

from hypothesis import settings

settings.register_profile("unit", deadline=None)
settings.load_profile("unit")
