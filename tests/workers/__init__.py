"""Workers under test: a server that stands in for a real one, and worker processes."""
