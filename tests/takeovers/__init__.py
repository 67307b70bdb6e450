"""Tests of the tier takeovers."""
