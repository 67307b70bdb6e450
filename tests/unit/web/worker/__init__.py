"""The translation between the wire of workers and the core."""
