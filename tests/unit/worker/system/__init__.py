"""The operating system under a worker."""
