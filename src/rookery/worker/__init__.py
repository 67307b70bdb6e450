"""Our worker: its life with a server, engines and builds, sandbox, updates."""
