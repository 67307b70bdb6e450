"""Tests of the worker endpoints' messages."""
