"""The wire formats as typed values, both ways."""
