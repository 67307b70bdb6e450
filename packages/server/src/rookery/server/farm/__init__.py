"""The fleet at work: group commit, rows, reads, jobs, event bus, submission, engine records."""
