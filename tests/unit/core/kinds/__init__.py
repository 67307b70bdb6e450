"""Tests of the kinds of runs."""
