"""The primary's use cases: runs change here, and nothing is told before its commit."""
