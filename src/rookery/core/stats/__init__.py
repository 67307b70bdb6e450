"""The arithmetic of engine tests: from counted results to Elo, verdicts and forecasts."""
