"""A simulated fleet with a ledger: workers that play nothing, and record what was acknowledged to
them."""
