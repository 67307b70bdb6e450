"""The primary's use cases: workers and people change runs; nothing is told before its commit."""
