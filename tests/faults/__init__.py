"""Tests of the tier faults."""
