"""Tests of the tier pages."""
