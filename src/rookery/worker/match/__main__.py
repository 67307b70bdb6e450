"""Starts a runner process of a match; see `shard`."""

from rookery.worker.match.shard import main

main()
