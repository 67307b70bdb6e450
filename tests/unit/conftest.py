"""What the unit tests share: property tests try few examples."""

from hypothesis import settings

settings.register_profile("unit", settings.get_profile("tests"), max_examples=25)
settings.load_profile("unit")
