"""Engines on a worker's machine: how an order becomes a program, and how fast that program is."""
