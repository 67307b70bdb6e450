"""The wire formats as typed values, for reading and writing."""
