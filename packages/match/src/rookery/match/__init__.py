"""The match runner: openings, games, adjudication, fastchess, tuning, replay, and the bundled
engine."""
