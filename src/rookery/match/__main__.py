"""Starts a runner process of a match; see `shard`."""

from rookery.match.shard import main

main()
