"""The crossings between the event loop and threads, and nothing else."""
