"""The JSON API of our own: runs, tasks, workers, actions and users, for scripts with a token."""
