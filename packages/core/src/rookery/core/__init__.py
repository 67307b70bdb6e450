"""Rookery, a self-hosted testing farm for game engines."""

__version__ = "0.1.0.dev0"
