"""Tests of the fastchess adapter."""
