"""Workers under test: a server that stands in for a real one, worker processes, a whole farm."""
