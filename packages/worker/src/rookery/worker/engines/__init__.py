"""Engines on a worker's machine: making programs from orders, and measuring their speed."""
