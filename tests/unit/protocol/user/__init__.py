"""Tests of the user endpoints' messages."""
