"""Tests of the tier unit."""
