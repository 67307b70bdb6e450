"""In-memory twins of the fleet's store: the same behaviour without a database."""
