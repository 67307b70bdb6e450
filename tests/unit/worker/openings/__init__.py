"""Tests of the opening books."""
