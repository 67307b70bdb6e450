"""The fleet's use cases on in-memory twins."""
