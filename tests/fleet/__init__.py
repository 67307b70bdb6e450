"""A simulated fleet with a ledger: workers that play nothing, and remember what they were told."""
