"""Rookery's own worker: its session with a server, engines and builds, sandbox, updates."""
