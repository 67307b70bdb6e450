"""Use cases: load, ask the core, store; and the ports they need."""
