"""Fledgling, a small UCI engine for demonstrations and tests: `python -m rookery.engine`.

It stands on python-chess and the standard library alone and starts fast. At a fixed number of
nodes it plays the same moves on every machine.
"""
