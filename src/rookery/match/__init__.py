"""The match runner: openings, games, adjudication, fastchess, tuning, replay, the small engine."""
