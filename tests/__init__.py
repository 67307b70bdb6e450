"""Rookery's tests, sorted by cost."""
