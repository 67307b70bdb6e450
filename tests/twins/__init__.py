"""In-memory twins of rows and files: the same behaviour without a database."""
