"""Installs a worker from its own server, and updates it."""
