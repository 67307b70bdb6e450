"""The primary's use cases: workers and people change runs, and nothing is told before its commit."""
