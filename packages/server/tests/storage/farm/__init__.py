"""The fleet's rows, in PostgreSQL and in memory."""
