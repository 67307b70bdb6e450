"""Tests of the tier storage."""
