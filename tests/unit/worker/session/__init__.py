"""A worker's life with its server."""
