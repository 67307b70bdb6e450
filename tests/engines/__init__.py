"""Engines that tests play with: quick, seeded, and badly behaved when asked to be."""
