"""Tests of the tier wire."""
