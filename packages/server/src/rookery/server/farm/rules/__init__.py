"""Rookery's decisions over the model: no I/O, no clock, no randomness."""
