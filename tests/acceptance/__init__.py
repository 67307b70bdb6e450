"""Tests of the tier acceptance."""
