"""A PostgreSQL server of our own below the data folder, with its supervisor."""
