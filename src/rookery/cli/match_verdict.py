"""How a command that waits for a test says in its exit code what came of it."""

ACCEPTED, REJECTED, UNDECIDED = 0, 1, 4
