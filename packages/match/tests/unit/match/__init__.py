"""Tests of the match runner and of Fledgling."""
