"""Tests of the ASGI server."""
